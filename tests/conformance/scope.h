/*
 * The variables of one test, and their way into SQL and JSON.
 */
#ifndef CF_SCOPE_H
#define CF_SCOPE_H

#include "driver.h"

typedef struct cf_variable
{
    char *name;
    cf_value value;
} cf_variable;

typedef struct cf_scope
{
    cf_variable *variables;
    size_t count;
} cf_scope;

/* Sets $name (given without the $); the scope takes the value over. */
void cf_scope_set(cf_scope *scope, const char *name, size_t length, cf_value value);

/* The value of $name, or NULL. Valid until the next set. */
const cf_value *cf_scope_get(const cf_scope *scope, const char *name, size_t length);

void cf_scope_free(cf_scope *scope);

/* The length of the name at `text`: letters, digits and _, not beginning with a digit. 0: none. */
size_t cf_name_length(const char *text);

/*
 * SQL with $name as the driver's placeholders and @view as the driver's view names, both outside quotes only;
 * *values are copies, one per placeholder. NULL on error, *error set. All malloc'ed.
 */
char *cf_scope_sql(const cf_scope *scope, const cf_driver *driver, const char *text, cf_value **values,
                   size_t *count, char **error);

/* JSON text with $name, outside strings, as JSON values. The same. */
char *cf_scope_json(const cf_scope *scope, const char *text, char **error);

/*
 * A `let` line without the directive: "$name PIECE …", pieces joined as text: 'text', 'text'*N, $name,
 * series(FROM,TO,'template with #','separator'), hex(BYTES). A single int(N), real(N), blob(BYTES) or null()
 * keeps its type. NULL if it went well, else the malloc'ed error.
 */
char *cf_scope_let(cf_scope *scope, const char *text);

#endif
