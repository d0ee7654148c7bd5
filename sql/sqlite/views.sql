-- Views for plain SQL and for dashboards. Times are ISO 8601 in UTC, from the same clock as the tables.
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
               WHEN c.head IS NOT NULL
                    AND (c.head = m.id OR EXISTS (SELECT 1 FROM json_each(c.more) WHERE value = m.id)) THEN 'claimed'
               WHEN q.head = m.id AND q.lane % 10 = 3 THEN 'retrying'
               WHEN m.due_ms IS NOT NULL
                    AND (EXISTS (SELECT 1 FROM solidobj_later l WHERE l.due_ms = m.due_ms AND l.id = m.id)
                         OR m.id >= (SELECT n.inbox FROM solidobj_message n ORDER BY n.id DESC LIMIT 1)) THEN 'delayed'
               ELSE 'waiting'
           END
       END AS status,
       coalesce(CASE m.id WHEN c.head THEN c.attempts WHEN q.head THEN q.attempts END, m.attempts, 0) AS attempts,
       strftime('%Y-%m-%dT%H:%M:%fZ', m.created_ms / 1000.0, 'unixepoch') AS created_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', m.finished_ms / 1000.0, 'unixepoch') AS finished_at,
       m.turn,
       m.revision,
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

CREATE VIEW main.solidobj_mailbox_view AS
SELECT message, type, key, operation, status, attempts, created_at, error
FROM solidobj_messages_view
WHERE status IN ('waiting', 'delayed', 'retrying', 'claimed');

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
