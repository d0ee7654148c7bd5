/*
 * The statement catalog: one entry per statement, one text per dialect. Parameters are numbered; their order,
 * and that of the columns, is the same in every dialect and stands beside the entry.
 */
#ifndef SO_CATALOG_H
#define SO_CATALOG_H

typedef enum so_dialect
{
    SO_DIALECT_SQLITE,
    SO_DIALECT_POSTGRES,
    SO_DIALECT_MYSQL,
    SO_DIALECT_COUNT
} so_dialect;

typedef enum so_statement
{
    /* hot verbs */
    SO_STMT_NEWEST,
    SO_STMT_LOOK,
    SO_STMT_APPEND,
    SO_STMT_RECORD,
    SO_STMT_EMPTY_MOVE,
    SO_STMT_EMPTY_PUT,
    SO_STMT_EMPTY,
    SO_STMT_FORGET,
    SO_STMT_SETTLE,
    SO_STMT_ACTOR_INSERT,
    SO_STMT_ACTOR_UPDATE,
    /* settings and definitions */
    SO_STMT_SETTINGS,
    SO_STMT_SETTING_SET,
    SO_STMT_ORIGIN,
    SO_STMT_STAMP_SET,
    SO_STMT_TYPES,
    SO_STMT_TYPE_INSERT,
    SO_STMT_TYPE_UPDATE,
    SO_STMT_OPERATIONS,
    SO_STMT_OPERATION_SET,
    SO_STMT_LANES_CHANGE,
    /* members */
    SO_STMT_MEMBER_GET,
    SO_STMT_MEMBER_EACH,
    SO_STMT_MEMBER_NAMES,
    SO_STMT_MEMBER_INSERT,
    SO_STMT_MEMBER_UPDATE,
    SO_STMT_MEMBER_DELETE,
    /* the mailbox */
    SO_STMT_MESSAGE,
    SO_STMT_DESTROY_WAITING,
    SO_STMT_DESTROY_HISTORY,
    SO_STMT_DESTROY_LOOSE,
    SO_STMT_DESTROY_NEWEST,
    SO_STMT_DESTROY_MAIL,
    SO_STMT_DESTROY_LATER,
    SO_STMT_DESTROY_MEMBERS,
    SO_STMT_DESTROY_ACTOR,
    SO_STMT_KEY_FIND,
    SO_STMT_KEY_DROP,
    SO_STMT_REPLACE,
    SO_STMT_MESSAGE_CHARGE,
    SO_STMT_QUEUE_CHARGE,
    SO_STMT_MAILBOX_COUNT,
    SO_STMT_INBOX,
    SO_STMT_INBOX_HAS,
    SO_STMT_INBOX_SET,
    SO_STMT_MAIL_FIRST,
    SO_STMT_MAIL_INSERT,
    SO_STMT_MAIL_DELETE,
    SO_STMT_LATER_DUE,
    SO_STMT_LATER_INSERT,
    SO_STMT_LATER_DELETE,
    SO_STMT_LATER_TIMES,
    SO_STMT_QUEUE_FIRST,
    SO_STMT_QUEUE_LAST_RANK,
    SO_STMT_QUEUE_SET,
    SO_STMT_QUEUE_DELETE,
    SO_STMT_QUEUE_ANY_DUE,
    SO_STMT_QUEUE_DUE,
    SO_STMT_DUE,
    SO_STMT_QUEUE_LANE,
    SO_STMT_QUEUE_TIMES,
    SO_STMT_CLAIM_SET,
    SO_STMT_CLAIM_DELETE,
    SO_STMT_CLAIMS_EXPIRED,
    SO_STMT_CLAIM_TIMES,
    SO_STATEMENT_COUNT
} so_statement;

/* The text of a statement in a dialect; NULL where a port has a better way. */
const char *so_statement_text(so_dialect dialect, so_statement statement);

#endif
