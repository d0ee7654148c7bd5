-- From version 1 of the tables to version 2. Frozen: what a file of version 1 holds does not change any more.
CREATE TABLE main.solidobj_migration(
    type INTEGER NOT NULL,
    from_version INTEGER NOT NULL,
    handler TEXT NOT NULL,
    PRIMARY KEY(type, from_version)
) WITHOUT ROWID;
ALTER TABLE main.solidobj_actor ADD COLUMN version INTEGER NOT NULL DEFAULT 1;
ALTER TABLE main.solidobj_claim ADD COLUMN version INTEGER NOT NULL DEFAULT 1;
ALTER TABLE main.solidobj_message ADD COLUMN idempotency_key TEXT;
ALTER TABLE main.solidobj_message ADD COLUMN replacement INTEGER;
CREATE UNIQUE INDEX main.solidobj_message_key ON solidobj_message(type, key, idempotency_key)
WHERE idempotency_key IS NOT NULL;
CREATE INDEX main.solidobj_message_dead ON solidobj_message(type) WHERE status = 4;
CREATE INDEX main.solidobj_message_loose ON solidobj_message(type, key) WHERE status > 1 AND incarnation IS NULL;
DROP VIEW main.solidobj_actors_view;
DROP VIEW main.solidobj_mailbox_view;
DROP VIEW main.solidobj_dead_letters_view;
DROP VIEW main.solidobj_messages_view;
