/*
 * Waking up: rings that take effect with the commit, and sleeping until there are news.
 *
 * A ring inside somebody's transaction must wait for its commit. A write to the eponymous virtual table
 * solidobj_ring makes SQLite call its xCommit once the commit is visible and the lock is free, and takes none
 * of the connection's hooks.
 */
#include "so_sqlite.h"

#include <string.h>
#include <time.h>

SQLITE_EXTENSION_INIT3

enum
{
    SO_POLL_MS = 1, /* without a doorbell */
    SO_SLICE_MS =
        20 /* with one: how often a sleeper looks for commits that nobody rang for, and for an interrupt */
};

int64_t so_sqlite_ticks_ms(so_port *port)
{
    struct timespec now;
    (void)port;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

so_doorbell *so_sqlite_doorbell(so_sqlite *connection)
{
    if (!connection->doorbell_tried)
    {
        connection->doorbell_tried = true;
        if (sqlite3_db_readonly(connection->db, "main") == 0)
            connection->doorbell = so_doorbell_open(sqlite3_db_filename(connection->db, "main"));
    }
    return connection->doorbell;
}

void so_sqlite_arm(so_port *port, const so_waiting *waiting)
{
    so_sqlite *connection = (so_sqlite *)port;
    const so_doorbell *doorbell = so_sqlite_doorbell(connection);
    if (doorbell != NULL)
        connection->armed = so_doorbell_count(doorbell, waiting);
}

so_code so_sqlite_others(so_port *port, int64_t *number)
{
    so_sqlite *connection = (so_sqlite *)port;
    sqlite3_stmt *statement;
    so_code code = so_sqlite_control_statement(connection, SO_CONTROL_DATA_VERSION, &statement);
    if (code != SO_OK)
        return code;
    if (sqlite3_step(statement) == SQLITE_ROW)
        *number = sqlite3_column_int64(statement, 0);
    return so_sqlite_done(connection, statement, SO_OK);
}

/* Whether somebody else has committed since the last look; SO_ENGINE when interrupted. */
static so_code so_news(so_sqlite *connection, bool *news)
{
    int64_t version = connection->data_version;
    so_code code = so_sqlite_others(&connection->port, &version);
    *news = version != connection->data_version;
    connection->data_version = version;
    return code;
}

so_code so_sqlite_wait(so_port *port, const so_waiting *waiting, int64_t milliseconds)
{
    so_sqlite *connection = (so_sqlite *)port;
    so_doorbell *doorbell = so_sqlite_doorbell(connection);
    int64_t end = so_sqlite_ticks_ms(port) + milliseconds;
    bool news = false;
    bool awake = connection->awake;
    so_code code = SO_OK;
    if (awake)
        so_doorbell_awake(doorbell, SO_BELL_RUN, false);
    while (code == SO_OK && !news)
    {
        int64_t left = end - so_sqlite_ticks_ms(port);
        if (left <= 0)
            break;
        if (doorbell == NULL)
        {
            struct timespec slice = {.tv_nsec = SO_POLL_MS * 1000000L};
            nanosleep(&slice, NULL);
        }
        else
        {
            bool woken = so_doorbell_wait(doorbell, waiting, connection->armed,
                                          left < SO_SLICE_MS ? left : SO_SLICE_MS);
            if (so_doorbell_count(doorbell, waiting) != connection->armed)
            {
                /* Rung for, and left asleep for a slice: perhaps who was awake has died. */
                if (awake && !woken)
                    so_doorbell_nobody_awake(doorbell, SO_BELL_RUN);
                break;
            }
        }
        code = so_news(connection, &news);
    }
    if (awake)
        so_doorbell_awake(doorbell, SO_BELL_RUN, true);
    return code;
}

void so_sqlite_awake(so_port *port, bool awake)
{
    so_sqlite *connection = (so_sqlite *)port;
    so_doorbell *doorbell = so_sqlite_doorbell(connection);
    if (doorbell == NULL || awake == connection->awake)
        return;
    connection->awake = awake;
    so_doorbell_awake(doorbell, SO_BELL_RUN, awake);
    /* What was rung for while we were awake may be left for another. */
    if (!awake)
        so_doorbell_ring(doorbell, SO_BELL_RUN, 0, false);
}

bool so_sqlite_keeps_notes(so_port *port) { return so_sqlite_doorbell((so_sqlite *)port) != NULL; }

void so_sqlite_note(so_port *port, const so_message *message)
{
    so_doorbell *doorbell = so_sqlite_doorbell((so_sqlite *)port);
    if (doorbell != NULL)
        so_doorbell_note(doorbell, message == NULL ? 0 : message->id,
                         message == NULL ? 0 : message->created_ms);
}

/* SQLite has one writer: who holds the write lock and finds a note knows that the one who left it is gone. */
int64_t so_sqlite_noted(so_port *port, int64_t *created_ms)
{
    const so_doorbell *doorbell = so_sqlite_doorbell((so_sqlite *)port);
    return doorbell == NULL ? 0 : so_doorbell_noted(doorbell, created_ms);
}

bool so_sqlite_in_transaction(so_sqlite *connection)
{
    return !sqlite3_get_autocommit(connection->db) ||
           sqlite3_txn_state(connection->db, NULL) == SQLITE_TXN_WRITE;
}

void so_sqlite_ring(so_port *port, so_bell bell, int64_t message, bool everybody)
{
    so_sqlite *connection = (so_sqlite *)port;
    so_rings *rings = &connection->rings;
    rings->any = true;
    if (bell == SO_BELL_MESSAGE)
    {
        uint64_t bit = UINT64_C(1) << (message & 63);
        uint64_t *bells = &rings->bells[message >> 6 & 3];
        int64_t *newest = &rings->messages[message & 255];
        *newest = (*bells & bit) != 0 && *newest > message ? *newest : message;
        *bells |= bit;
    }
    else
    {
        rings->work[bell] = true;
        rings->everybody[bell] = rings->everybody[bell] || everybody;
    }
    /* A message that was stored by one statement: committed already, unless it stands in a transaction of the
     * caller. */
    if (connection->piece == SO_PIECE_NONE && !so_sqlite_in_transaction(connection))
        so_sqlite_ring_now(connection);
}

void so_rings_clear(so_rings *rings)
{
    rings->any = false;
    memset(rings->work, 0, sizeof rings->work);
    memset(rings->everybody, 0, sizeof rings->everybody);
    memset(rings->bells, 0, sizeof rings->bells);
}

bool so_sqlite_attended(so_port *port)
{
    const so_doorbell *doorbell = so_sqlite_doorbell((so_sqlite *)port);
    return doorbell != NULL && so_doorbell_attended(doorbell, SO_BELL_RUN);
}

bool so_sqlite_rung(so_port *port, int64_t message)
{
    const so_doorbell *doorbell = so_sqlite_doorbell((so_sqlite *)port);
    return doorbell == NULL || so_doorbell_rung(doorbell, message);
}

void so_sqlite_ring_now(so_sqlite *connection)
{
    so_rings *rings = &connection->rings;
    so_doorbell *doorbell = so_sqlite_doorbell(connection);
    if (!rings->any)
        return;
    for (int bell = SO_BELL_RUN; doorbell != NULL && bell <= SO_BELL_EXTERNAL; bell++)
        if (rings->work[bell])
            so_doorbell_ring(doorbell, (so_bell)bell, 0, rings->everybody[bell]);
    for (int word = 0; doorbell != NULL && word < 4; word++)
        for (uint64_t left = rings->bells[word]; left != 0; left &= left - 1)
            so_doorbell_ring(doorbell, SO_BELL_MESSAGE, rings->messages[word * 64 + __builtin_ctzll(left)],
                             true);
    so_rings_clear(rings);
}

/*
 * Called before the write that is to be told of: without memory SQLite fails the caller's statement whatever
 * we answer, and after an I/O error it has rolled the transaction back. Where only the ring itself is not
 * allowed (an authorizer), the write is found by polling.
 */
so_code so_sqlite_ring_at_commit(so_sqlite *connection)
{
    if (connection->rings_at_commit)
        return SO_OK;
    so_error err = connection->session.err;
    so_code code = so_sqlite_control(connection, SO_CONTROL_RING);
    connection->rings_at_commit = code == SO_OK;
    if (code != SO_ENGINE || (connection->session.err.engine_code != SQLITE_AUTH &&
                              connection->session.err.engine_code != SQLITE_ERROR))
        return code;
    connection->session.err = err;
    return SO_OK;
}
