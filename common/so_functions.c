/*
 * The product's functions, one line each. A wrapper registers this table and knows nothing else of them.
 */
#include "so_call.h"
#include "so_claim.h"
#include "so_define.h"
#include "so_due.h"
#include "so_engine.h"
#include "so_history.h"
#include "so_manage.h"
#include "so_read.h"
#include "so_run.h"
#include "so_send.h"
#include "so_stats.h"
#include "so_wait.h"

const so_function so_functions[] = {
    {"so_install", 0, 1, SO_FN_DIRECT, so_fn_install, NULL},
    {"so_version", 0, 0, SO_FN_IN_TURN | SO_FN_JSON, so_fn_version, NULL},
    {"so_test_clock", 1, 1, SO_FN_DIRECT, so_fn_test_clock, NULL},
    {"so_define_actor", 1, 2, SO_FN_DIRECT, so_fn_define_actor, NULL},
    {"so_define_operation", 3, 4, SO_FN_DIRECT, so_fn_define_operation, NULL},
    {"so_types", 0, 0, SO_FN_DIRECT | SO_FN_IN_TURN | SO_FN_JSON | SO_FN_ROWS, so_fn_types,
     "type,options,operations,migrations"},
    {"so_define_migration", 3, 3, SO_FN_DIRECT, so_fn_define_migration, NULL},
    {"so_drop_operation", 2, 2, SO_FN_DIRECT, so_fn_drop_operation, NULL},
    {"so_drop_actor", 1, 1, SO_FN_DIRECT, so_fn_drop_actor, NULL},

    {"so_send", 3, 5, SO_FN_IN_TURN, so_fn_send, NULL},
    {"so_send_batch", 1, 1, SO_FN_DIRECT | SO_FN_JSON, so_fn_send_batch, NULL},
    {"so_find", 3, 3, SO_FN_DIRECT | SO_FN_IN_TURN, so_fn_find, NULL},
    {"so_call", 3, 5, SO_FN_DIRECT | SO_FN_JSON, so_fn_call, NULL},
    {"so_try", 3, 5, SO_FN_DIRECT | SO_FN_JSON, so_fn_try, NULL},
    {"so_query", 3, 4, SO_FN_DIRECT | SO_FN_JSON, so_fn_query, NULL},
    {"so_ask", 3, 5, SO_FN_DIRECT | SO_FN_JSON, so_fn_ask, NULL},
    {"so_wait", 1, 2, SO_FN_DIRECT | SO_FN_JSON, so_fn_wait, NULL},
    {"so_result", 1, 1, SO_FN_DIRECT | SO_FN_IN_TURN | SO_FN_JSON, so_fn_result, NULL},
    {"so_status", 1, 1, SO_FN_DIRECT | SO_FN_IN_TURN | SO_FN_JSON, so_fn_status, NULL},
    {"so_snapshot", 2, 2, SO_FN_DIRECT | SO_FN_IN_TURN | SO_FN_JSON, so_fn_snapshot, NULL},
    {"so_next_due", 0, 1, SO_FN_DIRECT | SO_FN_IN_TURN, so_fn_next_due, NULL},

    {"so_history", 2, 3, SO_FN_DIRECT | SO_FN_IN_TURN | SO_FN_JSON | SO_FN_ROWS, so_fn_history,
     SO_HISTORY_COLUMNS},
    {"so_dead_letters", 0, 1, SO_FN_DIRECT | SO_FN_IN_TURN | SO_FN_JSON | SO_FN_ROWS, so_fn_dead_letters,
     SO_DEAD_LETTER_COLUMNS},
    {"so_stats", 0, 1, SO_FN_DIRECT | SO_FN_IN_TURN | SO_FN_JSON | SO_FN_ROWS, so_fn_stats, SO_STATS_COLUMNS},
    {"so_actor", 2, 2, SO_FN_DIRECT | SO_FN_IN_TURN | SO_FN_JSON, so_fn_actor, NULL},

    {"so_claim", 1, 2, SO_FN_DIRECT | SO_FN_JSON | SO_FN_ROWS, so_fn_claim, SO_CLAIM_COLUMNS},
    {"so_renew", 1, 2, SO_FN_DIRECT, so_fn_renew, NULL},
    {"so_commit", 1, 2, SO_FN_DIRECT, so_fn_commit, NULL},
    {"so_reject", 2, 4, SO_FN_DIRECT, so_fn_reject, NULL},
    {"so_fail", 1, 3, SO_FN_DIRECT, so_fn_fail, NULL},
    {"so_release", 1, 1, SO_FN_DIRECT, so_fn_release, NULL},

    {"so_cancel", 1, 1, SO_FN_DIRECT, so_fn_cancel, NULL},
    {"so_retry", 1, 1, SO_FN_DIRECT, so_fn_retry, NULL},
    {"so_pause", 2, 2, SO_FN_DIRECT, so_fn_pause, NULL},
    {"so_resume", 2, 2, SO_FN_DIRECT, so_fn_resume, NULL},
    {"so_destroy", 2, 2, SO_FN_DIRECT, so_fn_destroy, NULL},
    {"so_tick", 0, 1, SO_FN_DIRECT | SO_FN_JSON, so_fn_tick, NULL},

    {"so_run", 0, 1, SO_FN_DIRECT | SO_FN_JSON, so_fn_run, NULL},

    {"so_self", 0, 0, SO_FN_TURN | SO_FN_JSON, so_fn_self, NULL},
    {"so_get", 1, 1, SO_FN_TURN | SO_FN_JSON, so_fn_get, NULL},
    {"so_set", 2, 2, SO_FN_TURN | SO_FN_JSON, so_fn_set, NULL},
    {"so_unset", 1, 1, SO_FN_TURN, so_fn_unset, NULL},
    {"so_members", 0, 1, SO_FN_TURN | SO_FN_JSON, so_fn_members, NULL},
    {"so_tell", 3, 5, SO_FN_TURN, so_fn_tell, NULL},
    {"so_raise", 1, 3, SO_FN_TURN, so_fn_raise, NULL},

    {NULL, 0, 0, 0, NULL, NULL}};
