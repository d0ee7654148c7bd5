/*
 * The rules for names and keys, the same on every database.
 */
#include "so_names.h"

#include "so_json.h"

enum
{
    SHOWN_BYTES = 80 /* so much of a refused name is shown */
};

static const char name_hint[] =
    "A name has 1 to 128 letters, digits and _ . : - and begins with a letter or _.";
static const char key_hint[] = "A key is text of 1 to 255 bytes of valid UTF-8 without NUL.";

/* Words for what a value is instead of text; NULL for text. */
static const char *const not_text[] = {
    [SO_NULL] = "NULL", [SO_INT] = "an integer", [SO_REAL] = "a number",
    [SO_TEXT] = NULL,   [SO_BLOB] = "a BLOB",
};

static bool begins_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

static bool continues_name(char c)
{
    return begins_name(c) || (c >= '0' && c <= '9') || c == '.' || c == ':' || c == '-';
}

static bool is_name(so_str text)
{
    if (text.n < 1 || text.n > SO_NAME_MAX_BYTES || !begins_name(text.p[0]))
        return false;
    for (size_t i = 1; i < text.n; i++)
        if (!continues_name(text.p[i]))
            return false;
    return true;
}

static so_code refuse_text(so_str text, const char *what, const char *noun, const char *hint, so_error *err)
{
    char shown[SHOWN_BYTES];

    if (text.n == 0)
        return so_error_set(err, SO_INVALID_NAME, hint, "%s is empty", what);
    size_t length = so_text_storable(shown, sizeof shown, text.p, text.n);
    return so_error_set(err, SO_INVALID_NAME, hint, "%s is not a %s: '%s%s' (%zu bytes)", what, noun, shown,
                        length < text.n ? "..." : "", text.n);
}

so_code so_name_check(const so_value *value, const char *what, so_str *name, so_error *err)
{
    if (value->type != SO_TEXT)
        return so_error_set(err, SO_INVALID_NAME, name_hint, "%s must be a name, not %s", what,
                            not_text[value->type]);
    if (!is_name(value->s))
        return refuse_text(value->s, what, "name", name_hint, err);
    *name = value->s;
    return SO_OK;
}

so_code so_key_check(const so_value *value, const char *what, so_str *key, so_error *err)
{
    if (value->type == SO_INT || value->type == SO_REAL)
        return so_error_set(err, SO_INVALID_NAME, "Pass the number as text.", "%s must be text, not %s", what,
                            not_text[value->type]);
    if (value->type != SO_TEXT)
        return so_error_set(err, SO_INVALID_NAME, key_hint, "%s must be text, not %s", what,
                            not_text[value->type]);
    if (value->s.n < 1 || value->s.n > SO_KEY_MAX_BYTES || !so_utf8_valid(value->s.p, value->s.n))
        return refuse_text(value->s, what, "key", key_hint, err);
    *key = value->s;
    return SO_OK;
}

so_code so_actor_check(const so_value *args, so_str *type, so_str *key, so_error *err)
{
    so_code code = so_name_check(&args[0], "type", type, err);
    return code == SO_OK ? so_key_check(&args[1], "key", key, err) : code;
}
