/*
 * SQL values between PostgreSQL and the engine.
 */
#include "so_pg.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"

static so_str so_pg_text(Datum datum)
{
    struct varlena *text = PG_DETOAST_DATUM_PACKED(datum);
    return (so_str){VARDATA_ANY(text), (size_t)VARSIZE_ANY_EXHDR(text)};
}

static so_str so_pg_cstring(char *text) { return (so_str){text, strlen(text)}; }

so_value so_pg_value(Oid type, Datum datum, bool null)
{
    if (null)
        return SO_VALUE_NULL;
    switch (type)
    {
    case INT8OID:
        return SO_VALUE_INT(DatumGetInt64(datum));
    case INT4OID:
        return SO_VALUE_INT(DatumGetInt32(datum));
    case INT2OID:
        return SO_VALUE_INT(DatumGetInt16(datum));
    case FLOAT8OID:
        return (so_value){.type = SO_REAL, .r = DatumGetFloat8(datum)};
    case FLOAT4OID:
        return (so_value){.type = SO_REAL, .r = DatumGetFloat4(datum)};
    case TEXTOID:
    case VARCHAROID:
    case BPCHAROID:
        return SO_VALUE_STR(so_pg_text(datum));
    case BYTEAOID:
        return (so_value){.type = SO_BLOB, .s = so_pg_text(datum)};
    case UNKNOWNOID:
        return SO_VALUE_STR(so_pg_cstring(DatumGetCString(datum)));
    case JSONOID:
        return SO_VALUE_JSON(so_pg_text(datum));
    case JSONBOID:
    {
        Jsonb *json = DatumGetJsonbP(datum);
        return SO_VALUE_JSON(so_pg_cstring(JsonbToCString(NULL, &json->root, VARSIZE(json))));
    }
    case BOOLOID:
        return SO_VALUE_JSON(DatumGetBool(datum) ? SO_STR("true") : SO_STR("false"));
    default:
    {
        Oid output;
        bool varlena;
        getTypeOutputInfo(type, &output, &varlena);
        so_str text = so_pg_cstring(OidOutputFunctionCall(output, datum));
        /* A numeric is a number of JSON, unless it is none; anything else is a text. */
        bool number = type == NUMERICOID && text.n > 0 && text.p[0] != 'N' && text.p[text.n - 1] != 'y';
        return number ? SO_VALUE_JSON(text) : SO_VALUE_STR(text);
    }
    }
}

so_code so_pg_value_copy(so_session *s, Oid type, Datum datum, bool null, so_value *value)
{
    *value = so_pg_value(type, datum, null);
    if (value->type != SO_TEXT && value->type != SO_BLOB)
        return SO_OK;
    value->s = so_arena_copy_str(s->arena, value->s);
    return value->s.p == NULL ? so_error_nomem(&s->err) : SO_OK;
}

Datum so_pg_datum(Oid type, const so_value *value, bool *null)
{
    *null = value->type == SO_NULL || (value->type == SO_TEXT && value->s.p == NULL);
    if (*null)
        return (Datum)0;
    if (value->type == SO_INT)
        switch (type)
        {
        case BOOLOID:
            return BoolGetDatum(value->i != 0);
        case INT8OID:
            return Int64GetDatum(value->i);
        default:
            break;
        }
    if (value->type == SO_TEXT && type == TEXTOID)
        return PointerGetDatum(cstring_to_text_with_len(value->s.p, (int)value->s.n));
    char *text;
    if (value->type == SO_INT)
        text = psprintf(INT64_FORMAT, value->i);
    else if (value->type == SO_REAL)
        text = psprintf("%.17g", value->r);
    else
        text = pnstrdup(value->s.p, value->s.n);
    Oid input;
    Oid parameter;
    getTypeInputInfo(type, &input, &parameter);
    return OidInputFunctionCall(input, text, parameter, -1);
}
