"""SQLite's C interface where Python's own module does not reach: hooks, db_config, limits, open flags, closing."""
import ctypes

from fixture import LIBRARY, check

S = ctypes.CDLL("libsqlite3.so.0")
P = ctypes.c_void_p
OK, ROW, DONE = 0, 100, 101
OPEN_READWRITE, OPEN_CREATE, OPEN_URI, OPEN_NOMUTEX, OPEN_FULLMUTEX, OPEN_SHAREDCACHE = 2, 4, 0x40, 0x8000, 0x10000, 0x20000

S.sqlite3_errmsg.restype = S.sqlite3_column_text.restype = ctypes.c_char_p
S.sqlite3_column_int64.restype = S.sqlite3_last_insert_rowid.restype = ctypes.c_int64
for name in ("commit_hook", "rollback_hook", "update_hook", "wal_hook", "preupdate_hook", "next_stmt", "expanded_sql"):
    getattr(S, f"sqlite3_{name}").restype = P


class Error(Exception):
    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class Connection:
    """One sqlite3*; errors are Error, with the extended result code."""

    def __init__(self, path, flags=OPEN_READWRITE | OPEN_CREATE, load=True):
        self.handle = P()
        self.kept = []
        if S.sqlite3_open_v2(path.encode(), ctypes.byref(self.handle), flags, None) != OK:
            raise Error(S.sqlite3_extended_errcode(self.handle), self.message())
        S.sqlite3_busy_timeout(self.handle, 5000)
        S.sqlite3_extended_result_codes(self.handle, 1)
        self.rows("PRAGMA synchronous = OFF")  # no power is cut here
        if load:
            self.load()

    def load(self, library=LIBRARY):
        self.config(1005, 1)
        self.expect(S.sqlite3_load_extension(self.handle, library.encode(), None, None))
        self.config(1005, 0)

    def message(self):
        return (S.sqlite3_errmsg(self.handle) or b"").decode()

    def expect(self, code):
        if code not in (OK, ROW, DONE):
            raise Error(code, self.message())
        return code

    def config(self, option, value):
        self.expect(S.sqlite3_db_config(self.handle, option, value, None))

    def running(self):
        """How many statements have been stepped and not reset."""
        count, statement = 0, P(S.sqlite3_next_stmt(self.handle, None))
        while statement:
            count += S.sqlite3_stmt_busy(statement)
            statement = P(S.sqlite3_next_stmt(self.handle, statement))
        return count

    def expanded(self):
        """The text of every prepared statement with what is bound to it, as a tracing tool shows it."""
        statement = P(S.sqlite3_next_stmt(self.handle, None))
        while statement:
            text = P(S.sqlite3_expanded_sql(statement))
            if text:
                yield ctypes.string_at(text)
            S.sqlite3_free(text)
            statement = P(S.sqlite3_next_stmt(self.handle, statement))

    def prepare(self, sql):
        statement = P()
        self.expect(S.sqlite3_prepare_v2(self.handle, sql.encode(), -1, ctypes.byref(statement), None))
        return statement

    def rows(self, sql):
        """The rows as tuples of text or None."""
        statement = self.prepare(sql)
        found = []
        try:
            while self.expect(S.sqlite3_step(statement)) == ROW:
                found.append(tuple(None if text is None else text.decode() for text in
                                   (S.sqlite3_column_text(statement, i) for i in range(S.sqlite3_column_count(statement)))))
        finally:
            S.sqlite3_finalize(statement)
        return found

    def one(self, sql):
        return self.rows(sql)[0][0]

    def refused(self, sql, begins):
        try:
            found = self.rows(sql)
        except Error as error:
            check(str(error).startswith(begins), f"{sql}: {error}, expected {begins}")
            return error.code
        check(False, f"{sql} went through: {found}, expected {begins}")
        return 0

    def hook(self, name, result, arguments, function):
        """Sets sqlite3_NAME to a Python function; the first argument of all of them, the context, is left out."""
        kind = ctypes.CFUNCTYPE(result, P, *arguments)
        callback = kind(lambda _, *values: function(*values))
        self.kept.append(callback)
        return getattr(S, f"sqlite3_{name}")(self.handle, callback, None)

    @property
    def autocommit(self):
        return S.sqlite3_get_autocommit(self.handle) != 0

    def close(self):
        self.expect(S.sqlite3_close(self.handle))
