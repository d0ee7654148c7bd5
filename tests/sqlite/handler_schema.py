#!/usr/bin/python3
"""A handler that is kept prepared follows the application's schema: columns that come, go or change their names."""
from fixture import answer, call, check
from places import application, equal, holds, refused


def main():
    database, c = application()
    other = database.connect()
    c.execute("CREATE TABLE price(sku TEXT, cents INTEGER)")
    c.execute("INSERT INTO price VALUES ('hat', 1500)")
    c.execute("CREATE VIEW outcome AS SELECT cents AS result FROM price")
    call(c, "SELECT so_define_operation('T', 'look', 'SELECT * FROM outcome')")
    equal(call(c, "SELECT so_call('T', '1', 'look')"), "1500", "the result")
    for changer in (other, c):
        changer.execute("DROP VIEW outcome")
        changer.execute("CREATE VIEW outcome AS SELECT json_object('cents', cents) AS state, 'seen' AS result FROM price")
        equal(call(c, "SELECT so_call('T', '1', 'look')"), '"seen"', "the result, in another column")
        equal(answer(c, "SELECT so_snapshot('T', '1')")["state"], {"cents": 1500}, "a column that came")
        changer.execute("DROP VIEW outcome")
        changer.execute("CREATE VIEW outcome AS SELECT cents AS surprise FROM price")
        refused(c, "SELECT so_call('T', '1', 'look')", "SO_FAILED")
        changer.execute("DROP VIEW outcome")
        refused(c, "SELECT so_call('T', '1', 'look')", "SO_FAILED")
        changer.execute("CREATE VIEW outcome AS SELECT json_object('a', 1) AS patch FROM price")
        equal(call(c, "SELECT so_call('T', '1', 'look')"), "null", "no result")
        equal(answer(c, "SELECT so_snapshot('T', '1')")["state"].get("a"), 1, "the patch")
        changer.execute("DROP VIEW outcome")
        changer.execute("CREATE VIEW outcome AS SELECT cents AS result FROM price")
        equal(call(c, "SELECT so_call('T', '1', 'look')"), "1500", "the result again")
    # A parameter stays in its place when the statement is prepared anew.
    call(c, "SELECT so_define_operation('T', 'buy', 'INSERT INTO price SELECT :args ->> ''sku'', :attempt FROM price LIMIT 1')")
    call(c, "SELECT so_call('T', '2', 'buy', '{\"sku\": \"tie\"}')")
    other.execute("ALTER TABLE price ADD COLUMN note TEXT DEFAULT 'none'")
    refused(c, "SELECT so_call('T', '2', 'buy', '{\"sku\": \"sock\"}')", "SO_FAILED")
    call(c, "SELECT so_define_operation('T', 'buy', 'INSERT INTO price(cents, sku) VALUES (:attempt, :args ->> ''sku'')')")
    call(other, "SELECT so_call('T', '2', 'buy', '{\"sku\": \"sock\"}')")
    c.execute("CREATE INDEX price_sku ON price(sku)")
    call(other, "SELECT so_call('T', '2', 'buy', '{\"sku\": \"belt\"}')")
    equal(c.execute("SELECT sku, cents FROM price ORDER BY rowid").fetchall(),
          [("hat", 1500), ("tie", 1), ("sock", 1), ("belt", 1)], "rows of the handlers")
    check(call(c, "SELECT so_run() ->> 'turns'") == 0, "nothing waits")
    holds(c, "in the end")
    other.close()
    c.close()
    database.close()


main()
