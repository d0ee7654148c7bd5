// Node as a client: what clients.py asks of each, one answer a line.
// Use: node client.mjs better-sqlite3|node:sqlite DATABASE LIBRARY KEY CALLS TEXT
import { createRequire } from 'node:module';
import { join } from 'node:path';

const [driver, path, library, key, calls, text] = process.argv.slice(2);
let db, get;
if (driver === 'node:sqlite') {
  const { DatabaseSync } = await import('node:sqlite');
  db = new DatabaseSync(path, { allowExtension: true, timeout: 20000 });
  db.exec('PRAGMA busy_timeout = 20000');
  get = (sql, ...values) => Object.values(db.prepare(sql).get(...values) ?? [null])[0];
} else {
  const require = createRequire(join(process.env.NODE_HOME, 'package.json'));
  db = new (require('better-sqlite3'))(path, { timeout: 20000 });
  get = (sql, ...values) => db.prepare(sql).pluck().get(...values);
}
db.loadExtension(library);

for (let i = 0; i < Number(calls); i++) get("SELECT so_call('T', 'shared', 'count')");
db.exec('BEGIN IMMEDIATE');
get("SELECT so_call('T', ?, 'count')", key);
db.exec('ROLLBACK');
if (db.transaction) {
  db.transaction(() => {
    get("SELECT so_call('T', ?, 'count')", key);
    db.transaction(() => get("SELECT so_call('T', ?, 'note', ?)", key, JSON.stringify({ text })))();
  }).immediate();
} else {
  db.exec('BEGIN IMMEDIATE');
  get("SELECT so_call('T', ?, 'count')", key);
  get("SELECT so_call('T', ?, 'note', ?)", key, JSON.stringify({ text }));
  db.exec('COMMIT');
}
console.log(get("SELECT so_snapshot('T', ?) ->> '$.state.n'", key));
console.log(get('SELECT text FROM note WHERE key = ?', key));
try {
  get("SELECT so_call('T', ?, 'refuse')", key);
} catch (error) {
  console.log(error.message.split(' Hint:')[0]);
}
const message = get("SELECT so_send('T', ?, ?, '{\"big\": 9007199254740993}')", key, key);
const [row] = JSON.parse(get('SELECT so_claim(?, ?)', 'c', JSON.stringify({ operations: [key] })));
console.log(get('SELECT so_commit(?, ?)', row.claim, '{"result": {"big": 9007199254740993, "ok": true}}'));
console.log(get('SELECT so_result(?)', message));
db.close();
