#include "invariants.h"

#include "scope.h"

#include <stdlib.h>

/* Each statement gives the rows that break its rule: one column, enough to find the row. */
static const struct
{
    const char *rule;
    const char *sql;
} invariants[] = {
    {"an unfinished message is in the mailbox once",
     "SELECT m.message FROM @mailbox m GROUP BY m.message HAVING count(*) <> 1"},
    {"a message is known once", "SELECT m.message FROM @messages m GROUP BY m.message HAVING count(*) <> 1"},
    {"an unfinished message is waiting or claimed",
     "SELECT m.message FROM @mailbox m WHERE m.status IS NULL"
     " OR m.status NOT IN ('waiting', 'delayed', 'retrying', 'claimed')"},
    {"a message without an end is in the mailbox",
     "SELECT m.message FROM @messages m WHERE m.finished_at IS NULL"
     " AND m.message NOT IN (SELECT b.message FROM @mailbox b)"},
    {"a message in the mailbox is known, without an end, with the same status",
     "SELECT b.message FROM @mailbox b WHERE NOT EXISTS (SELECT 1 FROM @messages m"
     " WHERE m.message = b.message AND m.finished_at IS NULL AND m.status = b.status)"},
    {"a finished message has a final status",
     "SELECT m.message FROM @messages m WHERE m.finished_at IS NOT NULL AND (m.status IS NULL"
     " OR m.status NOT IN ('completed', 'rejected', 'dead', 'cancelled'))"},
    {"a dead message has one dead letter",
     "SELECT m.message FROM @messages m WHERE m.status = 'dead'"
     " AND (SELECT count(*) FROM @dead_letters d WHERE d.message = m.message) <> 1"},
    {"a dead letter is a dead message",
     "SELECT d.message FROM @dead_letters d WHERE NOT EXISTS (SELECT 1 FROM @messages m"
     " WHERE m.message = d.message AND m.status = 'dead')"},
    {"an actor is known once",
     "SELECT max(a.key) FROM @actors a GROUP BY a.type, a.key HAVING count(*) <> 1"},
    {"what belongs to an incarnation belongs to one that lives",
     "SELECT m.message FROM @messages m WHERE m.incarnation IS NOT NULL AND NOT EXISTS"
     " (SELECT 1 FROM @actors a WHERE a.type = m.type AND a.key = m.key AND a.incarnation = m.incarnation)"},
    {"an unfinished message belongs to no incarnation yet",
     "SELECT m.message FROM @messages m WHERE m.finished_at IS NULL AND m.incarnation IS NOT NULL"},
    {"turn numbers of an incarnation are unique",
     "SELECT max(m.message) FROM @messages m WHERE m.turn IS NOT NULL AND m.incarnation IS NOT NULL"
     " GROUP BY m.type, m.key, m.incarnation, m.turn HAVING count(*) <> 1"},
    {"no turn is beyond the actor's count",
     "SELECT m.message FROM @messages m JOIN @actors a ON a.incarnation = m.incarnation"
     " WHERE m.turn > a.turns"},
    {"revisions follow the turns",
     "SELECT s.message FROM (SELECT m.message, m.revision, lag(m.revision) OVER"
     " (PARTITION BY m.incarnation ORDER BY m.turn) AS earlier FROM @messages m"
     " WHERE m.turn IS NOT NULL AND m.incarnation IS NOT NULL) s WHERE s.revision < s.earlier"},
    {"no revision is beyond the actor's",
     "SELECT m.message FROM @messages m JOIN @actors a ON a.incarnation = m.incarnation"
     " WHERE m.status = 'completed' AND m.revision > a.revision"},
};

char *cf_invariants_check(const cf_driver *driver, cf_session *session)
{
    const cf_scope nothing = {0};
    char *problem = NULL;

    for (size_t i = 0; !problem && i < sizeof(invariants) / sizeof(invariants[0]); i++)
    {
        cf_result result = {0};
        cf_value *values;
        size_t count;
        char *sql = cf_scope_sql(&nothing, driver, invariants[i].sql, &values, &count, &problem);

        if (!sql)
            return problem;
        driver->run(session, sql, values, count, &result);
        if (result.failed)
            problem = cf_format("invariant \"%s\" cannot be checked: %s: %s", invariants[i].rule, result.code,
                                result.message);
        else if (result.rows)
        {
            char *shown = cf_value_show(&result.cells[0]);

            problem = cf_format("invariant \"%s\" is broken by %s", invariants[i].rule, shown);
            free(shown);
        }
        cf_result_free(&result);
        free(values);
        free(sql);
    }
    return problem;
}
