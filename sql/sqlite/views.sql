-- Views for plain SQL and for dashboards. Times are ISO 8601 in UTC, from the same clock as the tables.

-- What the other views build on, one row each: the solidobj clock, and where the inbox begins.
CREATE VIEW main.solidobj_now_view AS
SELECT CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER)
           + coalesce((SELECT s.value FROM solidobj_setting s WHERE s.name = 'clock_ms'), 0) AS now_ms,
       (SELECT m.inbox FROM solidobj_message m ORDER BY m.id DESC LIMIT 1) AS inbox;

-- The operations that take messages. (json_each, because json_extract may not be used where the schema is not trusted.)
CREATE VIEW main.solidobj_takers_view AS
SELECT type, name
FROM solidobj_operation
WHERE NOT EXISTS (SELECT 1 FROM json_each(options) WHERE key = 'query' AND value = 1);

CREATE VIEW main.solidobj_actors_view AS
SELECT t.name AS type,
       a.key,
       a.incarnation,
       a.revision,
       a.turns,
       strftime('%Y-%m-%dT%H:%M:%fZ', a.created_ms / 1000.0, 'unixepoch') AS created_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', a.updated_ms / 1000.0, 'unixepoch') AS updated_at,
       a.bytes AS state_bytes,
       a.version AS state_version,
       EXISTS (SELECT 1 FROM solidobj_queue q WHERE q.type = a.type AND q.key = a.key AND q.lane >= 10)
           OR EXISTS (SELECT 1 FROM solidobj_claim c WHERE c.type = a.type AND c.key = a.key AND c.lane >= 10) AS paused
FROM solidobj_actor a
JOIN solidobj_type t ON t.type = a.type;

-- From the message's side: it is read from the message's own row where it is. A message that has joined its actor's
-- mailbox is not delayed any more, even if the clock was set back since.
CREATE VIEW main.solidobj_messages_view AS
SELECT m.id AS message,
       t.name AS type,
       m.key,
       m.operation,
       CASE m.status
           WHEN 2 THEN 'completed'
           WHEN 3 THEN 'rejected'
           WHEN 4 THEN 'dead'
           WHEN 5 THEN 'cancelled'
           ELSE CASE
               WHEN c.head = m.id OR EXISTS (SELECT 1 FROM json_each(c.more) WHERE value = m.id) THEN 'claimed'
               WHEN q.head = m.id THEN CASE
                   WHEN q.lane = 3 OR q.lane IN (1, 2) AND q.attempts > 0 THEN 'retrying'
                   ELSE 'waiting'
               END
               WHEN m.due_ms > (SELECT now_ms FROM solidobj_now_view)
                    AND (m.id >= (SELECT inbox FROM solidobj_now_view)
                         OR EXISTS (SELECT 1 FROM solidobj_later l WHERE l.due_ms = m.due_ms AND l.id = m.id))
                   THEN 'delayed'
               WHEN m.attempts > 0 AND q.type IS NULL AND c.type IS NULL
                    AND EXISTS (SELECT 1 FROM solidobj_takers_view o WHERE o.type = m.type AND o.name = m.operation)
                   THEN 'retrying'
               ELSE 'waiting'
           END
       END AS status,
       coalesce(CASE m.id WHEN c.head THEN c.attempts WHEN q.head THEN q.attempts END, m.attempts, 0) AS attempts,
       strftime('%Y-%m-%dT%H:%M:%fZ', m.created_ms / 1000.0, 'unixepoch') AS created_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', m.finished_ms / 1000.0, 'unixepoch') AS finished_at,
       m.turn,
       CASE m.status WHEN 2 THEN m.revision END AS revision,
       m.result,
       coalesce(CASE m.id WHEN c.head THEN c.error WHEN q.head THEN q.error END, m.error) AS error,
       m.incarnation,
       m.idempotency_key,
       m.replacement
FROM solidobj_message m
JOIN solidobj_type t ON t.type = m.type
LEFT JOIN solidobj_queue q ON m.status = 1 AND q.type = m.type AND q.key = m.key
LEFT JOIN solidobj_claim c ON m.status = 1 AND c.type = m.type AND c.key = m.key
WHERE m.status > 0;

-- From the mailbox's side: a row for each place, so that it costs nothing for what is finished.
CREATE VIEW main.solidobj_mailbox_view AS
SELECT p.id AS message,
       t.name AS type,
       p.key,
       m.operation,
       CASE
           WHEN p.place IN ('claim', 'more') THEN 'claimed'
           WHEN p.lane = 3 OR p.lane IN (1, 2) AND p.attempts > 0 THEN 'retrying'
           WHEN p.place IN ('later', 'inbox') AND m.due_ms > (SELECT now_ms FROM solidobj_now_view) THEN 'delayed'
           WHEN p.place IN ('later', 'inbox') AND m.attempts > 0
                AND NOT EXISTS (SELECT 1 FROM solidobj_queue q WHERE q.type = p.type AND q.key = p.key)
                AND NOT EXISTS (SELECT 1 FROM solidobj_claim c WHERE c.type = p.type AND c.key = p.key)
                AND EXISTS (SELECT 1 FROM solidobj_takers_view o WHERE o.type = m.type AND o.name = m.operation)
               THEN 'retrying'
           ELSE 'waiting'
       END AS status,
       coalesce(p.attempts, m.attempts, 0) AS attempts,
       strftime('%Y-%m-%dT%H:%M:%fZ', m.created_ms / 1000.0, 'unixepoch') AS created_at,
       coalesce(p.error, m.error) AS error
FROM (
    SELECT type, key, id, 'mail' AS place, NULL AS lane, NULL AS attempts, NULL AS error
    FROM solidobj_mail
    UNION ALL
    SELECT type, key, id, 'later', NULL, NULL, NULL
    FROM solidobj_later
    UNION ALL
    SELECT type, key, head, 'queue', lane, attempts, error
    FROM solidobj_queue
    WHERE head > 0
    UNION ALL
    SELECT type, key, head, 'claim', lane, attempts, error
    FROM solidobj_claim
    UNION ALL
    SELECT c.type, c.key, e.value, 'more', c.lane, NULL, NULL
    FROM solidobj_claim c, json_each(c.more) e
    UNION ALL
    SELECT i.type, i.key, i.id, 'inbox', NULL, NULL, NULL
    FROM solidobj_message i
    WHERE i.id >= (SELECT inbox FROM solidobj_now_view)
          AND i.status = 1
) p
LEFT JOIN solidobj_type t ON t.type = p.type
LEFT JOIN solidobj_message m ON m.id = p.id;

CREATE VIEW main.solidobj_dead_letters_view AS
SELECT m.id AS message,
       t.name AS type,
       m.key,
       m.operation,
       m.args,
       m.attempts,
       m.error,
       strftime('%Y-%m-%dT%H:%M:%fZ', m.created_ms / 1000.0, 'unixepoch') AS created_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', m.finished_ms / 1000.0, 'unixepoch') AS finished_at,
       m.replacement
FROM solidobj_message m
JOIN solidobj_type t ON t.type = m.type
WHERE m.status = 4;

-- What so_stats() answers. unsorted: what nobody has put behind or before anything. startable: what is first for its
-- actor and could start now, if its operation is there.
CREATE VIEW main.solidobj_stats_view AS
WITH now AS MATERIALIZED (SELECT now_ms, inbox FROM solidobj_now_view),
unsorted AS (
    SELECT type, key, id, due_ms
    FROM solidobj_later
    UNION ALL
    SELECT m.type, m.key, m.id, m.due_ms
    FROM now CROSS JOIN solidobj_message m
    WHERE m.id >= now.inbox AND m.status = 1
),
startable AS (
    SELECT q.type, q.head AS id
    FROM now CROSS JOIN solidobj_queue q
    WHERE q.head > 0 AND (q.lane IN (1, 2) OR q.lane % 10 = 4 OR q.lane = 3 AND q.rank <= now.now_ms)
    UNION ALL
    SELECT c.type, c.head
    FROM now CROSS JOIN solidobj_claim c
    WHERE c.lane < 10 AND c.expires_ms <= now.now_ms
    UNION ALL
    SELECT u.type, min(u.id)
    FROM now CROSS JOIN unsorted u
    WHERE coalesce(u.due_ms, 0) <= now.now_ms
          AND NOT EXISTS (SELECT 1 FROM solidobj_queue q WHERE q.type = u.type AND q.key = u.key)
          AND NOT EXISTS (SELECT 1 FROM solidobj_claim c WHERE c.type = u.type AND c.key = u.key)
    GROUP BY u.type, u.key
),
ready AS (
    SELECT s.type,
           min(coalesce(m.due_ms, m.created_ms)) FILTER (WHERE o.name IS NOT NULL) AS oldest_ms,
           count(*) FILTER (WHERE o.name IS NULL) AS stuck
    FROM startable s
    JOIN solidobj_message m ON m.id = s.id
    LEFT JOIN solidobj_takers_view o ON o.type = s.type AND o.name = m.operation
    GROUP BY s.type
),
mailbox AS (
    SELECT type,
           count(*) FILTER (WHERE status = 'waiting') AS waiting,
           count(*) FILTER (WHERE status = 'delayed') AS delayed,
           count(*) FILTER (WHERE status = 'retrying') AS retrying,
           count(*) FILTER (WHERE status = 'claimed') AS claimed
    FROM solidobj_mailbox_view
    GROUP BY type
),
due AS (
    SELECT type, min(due_ms) AS due_ms
    FROM (
        SELECT type, due_ms FROM solidobj_later
        UNION ALL
        SELECT u.type, u.due_ms FROM now CROSS JOIN unsorted u WHERE u.due_ms > now.now_ms
        UNION ALL
        SELECT type, rank FROM solidobj_queue WHERE lane = 3
        UNION ALL
        SELECT type, expires_ms FROM solidobj_claim
    )
    GROUP BY type
),
paused AS (
    SELECT type, count(*) AS actors
    FROM (SELECT type FROM solidobj_queue WHERE lane >= 10 UNION ALL SELECT type FROM solidobj_claim WHERE lane >= 10)
    GROUP BY type
),
dead AS (
    SELECT type, count(*) AS letters, sum(replacement IS NULL) AS unretried
    FROM solidobj_message
    WHERE status = 4
    GROUP BY type
)
SELECT t.name AS type,
       (SELECT count(*) FROM solidobj_actor a WHERE a.type = t.type) AS actors,
       coalesce(b.waiting, 0) AS waiting,
       coalesce(b.delayed, 0) AS delayed,
       coalesce(b.retrying, 0) AS retrying,
       coalesce(b.claimed, 0) AS claimed,
       coalesce(r.stuck, 0) AS stuck,
       coalesce(p.actors, 0) AS paused,
       coalesce(x.letters, 0) AS dead_letters,
       coalesce(x.unretried, 0) AS unretried,
       max(now.now_ms - r.oldest_ms, 0) AS oldest_ready_age_ms,
       iif(r.oldest_ms IS NULL, max(d.due_ms - now.now_ms, 0), 0) AS next_due_ms
FROM solidobj_type t
CROSS JOIN now
LEFT JOIN mailbox b ON b.type = t.name
LEFT JOIN ready r ON r.type = t.type
LEFT JOIN due d ON d.type = t.type
LEFT JOIN paused p ON p.type = t.type
LEFT JOIN dead x ON x.type = t.type;
