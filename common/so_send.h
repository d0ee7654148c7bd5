/*
 * Sending: the checks that every message passes, whoever brings it.
 */
#ifndef SO_SEND_H
#define SO_SEND_H

#include "so_turn.h"

/* The options of so_send(), so_ask() and tell; timeout_ms only where the caller asks for it. */
typedef struct so_send_options
{
    int64_t delay_ms;
    so_value at;
    bool at_given;
    int64_t max_attempts;
    bool keep_result;
    so_str idempotency_key;
    bool if_exists;
    int64_t incarnation;
    int64_t timeout_ms;
} so_send_options;

/*
 * Checks type, key, operation, args and options (five values) against the definitions, and fills `message`.
 * `call` is the function's name for messages. Texts live in the session's arena. *options may be NULL.
 */
so_code so_message_prepare(so_session *s, const char *call, const so_value *args, bool with_timeout,
                           so_message *message, so_operation **operation, so_send_options *options);

/* SO_INVALID_ARGUMENT for a query, which takes no messages. */
so_code so_message_allowed(so_session *s, const so_operation *operation);

/* Type, key, operation and args alone, for so_call() and so_query(). */
so_code so_request_prepare(so_session *s, const so_value *args, so_message *message,
                           so_operation **operation);

/* Gives a message its idempotency key, unless `key` is {NULL, 0}. SO_INVALID_NAME. */
so_code so_idempotency_key_set(so_session *s, so_message *message, so_str key);

/*
 * Stores a prepared message in any scope, against fresh definitions; `within` a piece of work or not.
 * message->id is the new message's, that of the message that has its key already, or 0 if it was sent only to
 * a living actor and there is none. SO_MAILBOX_FULL, SO_IDEMPOTENCY_CONFLICT, SO_DESTROYED.
 */
so_code so_message_store(so_session *s, so_message *message, bool within);

/* The message that has this one's idempotency key. SO_IDEMPOTENCY_CONFLICT if it asks for something else. */
so_code so_twin_find(so_session *s, const so_message *message, so_message *twin, bool *found);
so_code so_twin_check(so_session *s, const so_message *message, so_str operation, so_str args);

/* Whether message->only_to is there. */
so_code so_addressee_check(so_session *s, const so_message *message, bool *there);

/* Tells workers of a message that was stored. */
void so_message_ring(so_session *s, const so_message *message);

/* Adds a message to those that the turn sends when it commits: from an element of tell, or from five values.
 */
so_code so_tell_element(so_turn *turn, so_str element);
so_code so_tell_values(so_turn *turn, const char *call, const so_value *args);

so_code so_fn_send(so_session *s, const so_value *args, int count, so_value *result);
so_code so_fn_send_batch(so_session *s, const so_value *args, int count, so_value *result);
so_code so_fn_find(so_session *s, const so_value *args, int count, so_value *result);
so_code so_fn_tell(so_session *s, const so_value *args, int count, so_value *result);

#endif
