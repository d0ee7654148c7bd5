/*
 * The port: what the engine asks of a database. A port knows its database and nothing about actors' rules.
 *
 * It has two floors. The hot verbs are functions, each done the best way the database has. Everything else is
 * a statement of the catalog (so_catalog.h), run by `row`, `each` and `change`.
 *
 * Every verb returns SO_OK, SO_ENGINE (the database's own error is in session->err), SO_NOMEM or a code named
 * with it. Texts that a verb gives are copied into session->arena unless it says otherwise.
 */
#ifndef SO_PORT_H
#define SO_PORT_H

#include "so_catalog.h"
#include "so_error.h"
#include "so_value.h"

typedef struct so_session so_session;
typedef struct so_operation so_operation;
typedef struct so_turn so_turn;
typedef struct so_port so_port;

/* Where in the caller's SQL the call stands. */
typedef enum so_scope
{
    SO_SCOPE_FREE,        /* autocommit, nothing open: we may begin, commit, undo and wait */
    SO_SCOPE_READING,     /* autocommit, but a read cursor is open: as FREE, but no waiting */
    SO_SCOPE_TRANSACTION, /* the caller's transaction is open */
    SO_SCOPE_STATEMENT /* under a statement of the caller that is writing: one statement of ours at the most
                        */
} so_scope;

/* The life of a message, as it is stored. */
typedef enum so_message_status
{
    SO_MESSAGE_ORIGIN = 0,
    SO_MESSAGE_UNFINISHED = 1,
    SO_MESSAGE_COMPLETED = 2,
    SO_MESSAGE_REJECTED = 3,
    SO_MESSAGE_DEAD = 4,
    SO_MESSAGE_CANCELLED = 5
} so_message_status;

typedef struct so_message
{
    int64_t id;
    so_message_status status;
    int64_t type;
    so_str key;
    so_str operation;
    int64_t created_ms;
    int64_t due_ms;       /* 0: at once */
    int64_t max_attempts; /* 0: as the operation or the type says */
    bool keep;            /* keep the result whatever the type's history says */
    int64_t attempts;     /* an unfinished head's are in its slot, these were charged before it was one */
    int64_t finished_ms;
    int64_t incarnation; /* 0: of none */
    int64_t turn;
    int64_t revision;
    int64_t previous;       /* the finished message before this one of the same incarnation, 0: none */
    int64_t nonce;          /* of the claim that finished it, 0: none */
    so_str args;            /* compact JSON */
    so_str result;          /* compact JSON; p NULL: none */
    so_str error;           /* dead: a text; rejected: JSON {code, message, details}; p NULL: none */
    so_str idempotency_key; /* p NULL: none */
    int64_t replacement;    /* the message that so_retry() sent for it, 0: none */
    int64_t only_to;        /* SO_TO_ANYBODY, SO_TO_LIVING or an incarnation: whom it is sent to */
    bool leaves_nothing;    /* finishing it removes its row */
    int64_t hollow;         /* the row before it if that was empty when it was sent, 0: none */
} so_message;

enum
{
    SO_TO_ANYBODY = -1,
    SO_TO_LIVING = 0
};

/* What a worker looks for. The numbers are stored. */
typedef enum so_lane
{
    SO_LANE_RUN = 1,      /* a handler in the database can run it */
    SO_LANE_EXTERNAL = 2, /* an external worker can claim it */
    SO_LANE_TIMED = 3,    /* it waits until `rank`, in milliseconds since 1970 */
    SO_LANE_STUCK = 4,    /* its operation is missing */
    SO_LANE_PAUSED = 10   /* added to a stored lane while the actor is paused */
} so_lane;

typedef enum so_slot_kind
{
    SO_SLOT_NONE,   /* no unfinished message that has been sorted */
    SO_SLOT_QUEUED, /* there is a head and nobody holds it */
    SO_SLOT_CLAIMED /* somebody holds the head */
} so_slot_kind;

/* The place of an actor's oldest unfinished message. */
typedef struct so_slot
{
    so_slot_kind kind;
    bool paused; /* nothing of this actor may start */
    int64_t head;
    so_lane lane;
    int64_t rank;     /* QUEUED */
    int64_t attempts; /* of the head that were started */
    int64_t
        nonce; /* CLAIMED: of this claim; QUEUED: of the last claim that was settled on this head, 0: none */
    int64_t expires_ms; /* CLAIMED */
    so_str worker;      /* CLAIMED */
    int64_t version;    /* CLAIMED: the state_version that it was given */
    so_str more;        /* CLAIMED: JSON array of further message ids, p NULL: none */
    so_str operation;   /* the head's; QUEUED: needed in SO_LANE_EXTERNAL and SO_LANE_STUCK */
    so_str error;       /* what the head's last attempt ended with, p NULL: nothing */
} so_slot;

typedef struct so_actor
{
    int64_t type;
    so_str key;
    bool exists;
    int64_t incarnation; /* 0 if it does not exist */
    int64_t revision;
    int64_t turns;
    int64_t last;
    int64_t created_ms;
    int64_t updated_ms;
    int64_t members; /* how many members have rows of their own */
    int64_t bytes;   /* of the whole state as compact JSON */
    int64_t version; /* the state_version that the state was written for */
    so_str state;    /* the members that are stored in the actor's own row, a compact JSON object */
    so_slot slot;
} so_actor;

/* What every call has to know of the mailbox as a whole. */
typedef struct so_newest
{
    int64_t id;           /* the newest message */
    int64_t inbox;        /* the first message that was not sorted; id + 1 if there is none */
    int64_t stamp;        /* of the definitions and settings */
    bool empty;           /* the newest row has no message any more: it goes when another one comes */
    int64_t later_due_ms; /* when the first delayed message is due, INT64_MAX if there is none */
} so_newest;

/* How a handler's statements ended. */
typedef enum so_handler_end
{
    SO_HANDLER_DONE,  /* every statement ran; columns were given to so_turn_column() */
    SO_HANDLER_FAILED /* a statement failed for a reason of its own: the message is in session->err */
} so_handler_end;

/* What can be waited for. */
typedef enum so_bell
{
    SO_BELL_RUN,      /* work for handlers in the database */
    SO_BELL_EXTERNAL, /* work for external workers */
    SO_BELL_MESSAGE   /* the end of a message, or of its claim; several messages may share a bell */
} so_bell;

enum
{
    SO_BELLS = 256 /* of SO_BELL_MESSAGE: consecutive messages have different ones */
};

typedef struct so_waiting
{
    so_bell bell;
    int64_t message; /* SO_BELL_MESSAGE */
    bool picky;      /* this waiter does not take all work of the bell */
} so_waiting;

/* One row of an `each`; the texts live until it returns. Anything but SO_OK ends the walk and is its result.
 */
typedef so_code (*so_row_fn)(so_session *session, void *context, const so_value *columns);

typedef struct so_port_methods
{
    so_dialect dialect;
    int inline_bytes; /* how many bytes of state fit into an actor's own row */

    /*
     * How messages wait. A database with one writer has an inbox that whoever writes sorts into heads, mail
     * and what is delayed. One that `seeks` has many writers, who must not wait for each other: a message
     * lies with its actor's others from the start, nothing is sorted (inbox = newest->id + 1), and `look`
     * derives the slot of an actor whose head was never attempted from the first message that is there.
     */
    bool seeks;

    bool
        typed_json; /* JSON has a type of its own: a value of it stays JSON wherever plain values are taken */

    so_scope (*scope)(so_port *port);

    /*
     * Begins a piece of work: a transaction of our own (SCOPE_FREE, SCOPE_READING) or a savepoint in the
     * caller's; with `write` it holds the right to write from its start. SO_INSIDE_STATEMENT where that
     * cannot be had (never without `write`). `end` with keep=true commits or releases it, with false undoes
     * it; when committing fails it has been undone and the error is the engine's. Pieces do not nest.
     */
    so_code (*begin)(so_port *port, bool write);
    so_code (*end)(so_port *port, bool keep);

    /* Whether a piece of work that writes could begin here, without beginning one: the error that it would
     * meet. */
    so_code (*writable)(so_port *port);

    /* A mark within a piece of work, for one turn: taken back by `undo`, forgotten by `release`. They do not
     * nest. */
    so_code (*mark)(so_port *port);
    so_code (*undo)(so_port *port);
    so_code (*release)(so_port *port);

    /* Whether a turn of this piece of work needs a mark whatever its handler does, because a failed statement
     * would end the caller's transaction. */
    bool (*must_mark)(so_port *port);

    /*
     * The right to change an actor and its slot, until the piece of work ends; what is read afterwards is
     * what was committed last. Without `wait` *held is false if somebody else has it. `loose` gives it back
     * if nothing was changed under it.
     */
    so_code (*hold)(so_port *port, int64_t type, so_str key, bool wait, bool *held);
    void (*loose)(so_port *port, int64_t type, so_str key);

    /* The id of a message that is about to be recorded. */
    so_code (*next_id)(so_port *port, const so_newest *newest, int64_t *id);

    /* How many rows this connection has changed so far: tells whether a turn wrote anything. */
    int64_t (*changes)(so_port *port);

    /* A number that is another one once somebody else has committed. */
    so_code (*others)(so_port *port, int64_t *number);

    int64_t (*now_ms)(so_port *port);   /* the database's own clock */
    int64_t (*ticks_ms)(so_port *port); /* a clock that only moves forward, for time-outs */
    int64_t (*random)(so_port *port);   /* 62 random bits, never 0 */

    /*
     * Waking up: arm, look, wait. `arm` notes how often a bell has rung; `wait` sleeps until it rings again,
     * at most `milliseconds`, less if there may be news. `ring` takes effect when what was written becomes
     * visible to others, and never fails. SO_ENGINE when interrupted.
     */
    void (*arm)(so_port *port, const so_waiting *waiting);
    so_code (*wait)(so_port *port, const so_waiting *waiting, int64_t milliseconds);
    void (*ring)(so_port *port, so_bell bell, int64_t message, bool everybody);

    /* False only if nothing has rung for this message or a later one that shares its bell; true when in
     * doubt. */
    bool (*rung)(so_port *port, int64_t message);

    /* A worker of SO_BELL_RUN that takes all work is about to look for it (and will until it sleeps in
     * `wait`), or leaves. */
    void (*awake)(so_port *port, bool awake);

    /* Whether such a worker seems to be there, awake or asleep. */
    bool (*attended)(so_port *port);

    /*
     * An attempt on record without a commit. A port that `keeps_notes` has a place that outlives this
     * process: `note` says there which message's handler is about to start in this piece of work (0: none),
     * and `noted`, in a piece of work that may write, gives what somebody noted who died, else 0. Without,
     * claims are committed before they are run.
     */
    bool (*keeps_notes)(so_port *port);
    void (*note)(so_port *port, const so_message *message);
    int64_t (*noted)(so_port *port, int64_t *created_ms);

    /* Reads an actor (which need not exist), its slot and the newest row in one step. With `type` 0 only the
     * newest row. */
    so_code (*look)(so_port *port, int64_t type, so_str key, so_actor *actor, so_newest *newest);

    /*
     * Stores an unfinished message as one statement that is right in every scope, and gives its id. *stored
     * is false, and nothing was written, if the newest row's stamp is not `stamp`, if the inbox holds
     * `max_inbox` messages, if the mailbox may hold `max_mailbox` messages already (judged cheaply, never
     * too low), if the idempotency key is taken, or if message->only_to is not there.
     */
    so_code (*append)(so_port *port, const so_message *message, int64_t stamp, int64_t max_inbox,
                      int64_t max_mailbox, int64_t *id, bool *stored);

    /* Within a piece of work: stores a finished message that was never in the mailbox (newest->id + 1), or
     * finishes a stored one; or removes a message's row. Its id never comes back. */
    so_code (*record)(so_port *port, const so_message *message, so_newest *newest);
    so_code (*settle)(so_port *port, const so_message *message, so_newest *newest);
    so_code (*forget)(so_port *port, int64_t id, so_newest *newest);

    /* Inserts (`create`) or updates the actor's row. */
    so_code (*write_actor)(so_port *port, const so_actor *actor, bool create);

    /*
     * Handlers. `check` says whether `text` can be a handler here (SO_INVALID_ARGUMENT with the reason),
     * `run` runs it for a turn: it asks so_turn_parameter() for each name that the text uses and gives the
     * last statement's columns to so_turn_column(). SO_OK and *end; SO_UNDONE if a statement ended the
     * transaction; or an engine error that is nobody's turn's fault (busy, full, interrupted). `pure` tells
     * whether its statements only read (known without running it). `forget` drops what was prepared.
     */
    so_code (*handler_check)(so_port *port, so_str text);
    so_code (*handler_pure)(so_port *port, so_operation *operation, bool *pure);
    so_code (*handler_run)(so_port *port, so_operation *operation, so_turn *turn, so_handler_end *end);
    void (*handler_forget)(so_port *port);

    /* The catalog. `row` gives the first row (*found false: there was none), `change` runs a statement
     * without rows. */
    so_code (*row)(so_port *port, so_statement statement, const so_value *params, so_value *columns,
                   bool *found);
    so_code (*each)(so_port *port, so_statement statement, const so_value *params, so_row_fn fn,
                    void *context);
    so_code (*change)(so_port *port, so_statement statement, const so_value *params, int64_t *changed);

    /* Creates the tables or brings older ones up to SO_SCHEMA_VERSION; *from: the version that was there, 0:
     * none. What is there at that version or a newer one stays. In a piece of work. */
    so_code (*migrate_schema)(so_port *port, int64_t *from);
} so_port_methods;

/* A port's own structure begins with this. */
struct so_port
{
    const so_port_methods *methods;
    so_session *session;
};

#endif
