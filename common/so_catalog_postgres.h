/*
 * The statements in PostgreSQL's dialect. See so_catalog.h.
 */
#ifndef SO_CATALOG_POSTGRES_H
#define SO_CATALOG_POSTGRES_H

#include "so_catalog.h"

typedef struct so_postgres_entry
{
    const char *params; /* a letter for each: i bigint, t text */
    const char *text;
} so_postgres_entry;

extern const so_postgres_entry so_catalog_postgres[SO_STATEMENT_COUNT];

#endif
