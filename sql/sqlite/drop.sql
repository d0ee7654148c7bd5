-- What DROP TABLE solidobj removes with itself.
DROP VIEW IF EXISTS main.solidobj_actors_view;
DROP VIEW IF EXISTS main.solidobj_mailbox_view;
DROP VIEW IF EXISTS main.solidobj_dead_letters_view;
DROP VIEW IF EXISTS main.solidobj_messages_view;
DROP TABLE IF EXISTS main.solidobj_setting;
DROP TABLE IF EXISTS main.solidobj_type;
DROP TABLE IF EXISTS main.solidobj_operation;
DROP TABLE IF EXISTS main.solidobj_migration;
DROP TABLE IF EXISTS main.solidobj_actor;
DROP TABLE IF EXISTS main.solidobj_member;
DROP TABLE IF EXISTS main.solidobj_message;
DROP TABLE IF EXISTS main.solidobj_mail;
DROP TABLE IF EXISTS main.solidobj_later;
DROP TABLE IF EXISTS main.solidobj_queue;
DROP TABLE IF EXISTS main.solidobj_claim;
