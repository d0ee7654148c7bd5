/*
 * Types and operations: defining them, and the connection's copy of the definitions.
 */
#ifndef SO_DEFINE_H
#define SO_DEFINE_H

#include "so_session.h"

so_code so_fn_install(so_session *s, const so_value *args, int count, so_value *result);
so_code so_fn_version(so_session *s, const so_value *args, int count, so_value *result);
so_code so_fn_test_clock(so_session *s, const so_value *args, int count, so_value *result);
so_code so_fn_define_actor(so_session *s, const so_value *args, int count, so_value *result);
so_code so_fn_define_operation(so_session *s, const so_value *args, int count, so_value *result);
so_code so_fn_define_migration(so_session *s, const so_value *args, int count, so_value *result);
so_code so_fn_drop_operation(so_session *s, const so_value *args, int count, so_value *result);
so_code so_fn_drop_actor(so_session *s, const so_value *args, int count, so_value *result);
so_code so_fn_types(so_session *s, const so_value *args, int count, so_value *result);

/* Reads the options of a type or an operation, stored or new, over the defaults. */
so_code so_type_options_read(so_session *s, const so_value *value, so_type_options *options);
so_code so_operation_options_read(so_session *s, const so_value *value, so_operation *operation);

#endif
