/*
 * Moments: ISO 8601 with a zone (2026-12-01T09:00:00Z, 2026-12-01T09:00:00.250+02:00), an ISO 8601 duration
 * from now (PT15M, P1DT2H, P2W, PT0.5S; years and months are refused because their length varies), or integer
 * milliseconds since 1970-01-01 UTC. Stored exactly, in milliseconds, or refused (a fraction finer than a
 * millisecond, 31 February, no zone). Proleptic Gregorian calendar, no leap seconds (as POSIX time), years
 * 1970 to 9999.
 */
#ifndef SO_WHEN_H
#define SO_WHEN_H

#include "so_error.h"
#include "so_value.h"

/* 9999-12-31T23:59:59.999Z */
#define SO_WHEN_MAX_MS INT64_C(253402300799999)

/* Milliseconds since 1970 UTC of `value` (SO_INT, whole SO_REAL, SO_TEXT), relative ones from `now_ms`.
 * SO_INVALID_ARGUMENT, naming `what`. */
so_code so_when_parse(const so_value *value, int64_t now_ms, const char *what, int64_t *when_ms,
                      so_error *err);

/* Writes 2026-12-01T09:00:00.250Z (24 bytes and a NUL) into `to`. Outside 0 to SO_WHEN_MAX_MS: the nearest
 * bound. */
void so_when_format(int64_t when_ms, char to[32]);

#endif
