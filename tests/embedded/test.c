/*
 * The library as a part of a program: no extension is loaded, the program hands the entry point to SQLite or
 * calls it.
 *
 * SOLIDOBJ names the loadable library, which one test loads beside the copy in the program; default
 * build/solidobj.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include <sqlite3.h>

int sqlite3_solidobj_init(sqlite3 *db, char **error, const struct sqlite3_api_routines *api);

/* Names of the library and of Jansson: were they visible in the archive, this program would not link. */
int so_functions = 1;
int so_json_check = 1;
int json_object = 1;

typedef struct files
{
    char directory[40];
    char database[60];
} files;

static int make_files(void **state)
{
    files *made = calloc(1, sizeof *made);

    assert_non_null(made);
    strcpy(made->directory, "/tmp/solidobj-test-XXXXXX");
    assert_non_null(mkdtemp(made->directory));
    snprintf(made->database, sizeof made->database, "%s/test.db", made->directory);
    *state = made;
    return 0;
}

static int remove_files(void **state)
{
    static const char *const endings[] = {"", "-wal", "-shm", "-journal", "-solidobj"};
    files *made = *state;
    char name[80];

    sqlite3_reset_auto_extension();
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++)
    {
        snprintf(name, sizeof name, "%s%s", made->database, endings[i]);
        unlink(name);
    }
    int status = rmdir(made->directory);
    free(made);
    return status;
}

static sqlite3 *open_database(const char *path)
{
    sqlite3 *db = NULL;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_busy_timeout(db, 10000), SQLITE_OK);
    return db;
}

/* The first value of the first row, until the next call; an error's text where there is one. */
static const char *answer(sqlite3 *db, const char *sql)
{
    static char text[1000];
    sqlite3_stmt *statement = NULL;
    bool row = sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK &&
               sqlite3_step(statement) == SQLITE_ROW;

    snprintf(text, sizeof text, "%s",
             row ? (const char *)sqlite3_column_text(statement, 0) : sqlite3_errmsg(db));
    if (sqlite3_finalize(statement) != SQLITE_OK)
        snprintf(text, sizeof text, "%s", sqlite3_errmsg(db));
    return text;
}

static void define_cart(sqlite3 *db)
{
    assert_string_equal(answer(db, "SELECT so_install() > 0"), "1");
    assert_string_equal(answer(db, "SELECT so_define_actor('Cart', '{\"initial\": {\"count\": 0}}')"),
                        "Cart");
    assert_string_equal(answer(db, "SELECT so_define_operation('Cart', 'add', "
                                   "'SELECT so_set(''count'', so_get(''count'') + 1) AS result')"),
                        "add");
}

static void as_an_automatic_extension_it_is_in_every_connection(void **state)
{
    files *made = *state;

    assert_int_equal(sqlite3_auto_extension((void (*)(void))sqlite3_solidobj_init), SQLITE_OK);
    sqlite3 *db = open_database(made->database);
    assert_int_equal(sqlite3_errcode(db), SQLITE_OK);
    define_cart(db);
    answer(db, "SELECT so_send('Cart', '1', 'add')");
    assert_string_equal(answer(db, "SELECT so_run() ->> 'completed'"), "1");

    sqlite3 *other = open_database(made->database);
    assert_string_equal(answer(other, "SELECT so_call('Cart', '1', 'add')"), "2");
    assert_string_equal(answer(db, "SELECT so_snapshot('Cart', '1') ->> '$.state.count'"), "2");
    assert_int_equal(sqlite3_close(other), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void it_is_called_without_a_table_and_without_a_place_for_an_error(void **state)
{
    files *made = *state;
    sqlite3 *db = open_database(made->database);

    assert_string_equal(answer(db, "SELECT so_version()"), "no such function: so_version");
    assert_int_equal(sqlite3_solidobj_init(db, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_errcode(db), SQLITE_OK);
    define_cart(db);
    assert_int_equal(sqlite3_solidobj_init(db, NULL, NULL), SQLITE_OK); /* once more changes nothing */
    assert_string_equal(answer(db, "SELECT so_call('Cart', '1', 'add')"), "1");
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void of_the_program(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    (void)values;
    sqlite3_result_int(context, 1);
}

/* A function cannot be replaced while a statement runs. */
static void a_refusal_is_a_code_and_a_text_if_there_is_a_place_for_it(void **state)
{
    (void)state;
    sqlite3 *db = open_database(":memory:");
    sqlite3_stmt *running = NULL;
    char *error = NULL;

    for (int count = 0; count < 6; count++)
        assert_int_equal(
            sqlite3_create_function(db, "so_send", count, SQLITE_UTF8, NULL, of_the_program, NULL, NULL),
            SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT 1 UNION SELECT 2", -1, &running, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(running), SQLITE_ROW);
    assert_int_equal(sqlite3_solidobj_init(db, NULL, NULL), SQLITE_BUSY);
    assert_int_equal(sqlite3_solidobj_init(db, &error, NULL), SQLITE_BUSY);
    assert_non_null(error);
    sqlite3_free(error);
    assert_int_equal(sqlite3_finalize(running), SQLITE_OK);
    assert_int_equal(sqlite3_solidobj_init(db, NULL, NULL), SQLITE_OK); /* and now completely */
    define_cart(db);
    answer(db, "SELECT so_send('Cart', '1', 'add')");
    assert_string_equal(answer(db, "SELECT so_run() ->> 'completed'"), "1");
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* Whoever opens a file learns from reading it what it is, not from the library. */
static void a_file_that_is_no_database_is_opened_as_ever(void **state)
{
    files *made = *state;
    FILE *file = fopen(made->database, "w");

    assert_non_null(file);
    for (int i = 0; i < 1000; i++)
        fputs("not a database\n", file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(sqlite3_auto_extension((void (*)(void))sqlite3_solidobj_init), SQLITE_OK);
    sqlite3 *db = open_database(made->database);
    assert_string_equal(answer(db, "SELECT so_install()"), "file is not a database");
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void load(sqlite3 *db)
{
    const char *library = getenv("SOLIDOBJ");
    char *error = NULL;

    assert_int_equal(sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL), SQLITE_OK);
    if (sqlite3_load_extension(db, library != NULL ? library : "build/solidobj", NULL, &error) != SQLITE_OK)
        fail_msg("%s", error);
}

static void a_loaded_copy_and_the_program_s_own_work_side_by_side(void **state)
{
    files *made = *state;
    sqlite3 *own = open_database(made->database);
    sqlite3 *loaded = open_database(made->database);

    load(loaded);
    assert_int_equal(sqlite3_solidobj_init(own, NULL, NULL), SQLITE_OK);
    define_cart(own);
    for (int i = 1; i <= 5; i++)
    {
        answer(own, "SELECT so_send('Cart', '1', 'add')");
        assert_string_equal(answer(loaded, "SELECT so_run() ->> 'completed'"), "1");
        answer(loaded, "SELECT so_send('Cart', '1', 'add')");
        assert_string_equal(answer(own, "SELECT so_run() ->> 'completed'"), "1");
    }
    load(own); /* both on one connection: the first stays */
    assert_int_equal(sqlite3_solidobj_init(loaded, NULL, NULL), SQLITE_OK);
    assert_string_equal(answer(own, "SELECT so_call('Cart', '1', 'add')"), "11");
    assert_string_equal(answer(loaded, "SELECT so_call('Cart', '1', 'add')"), "12");
    assert_int_equal(sqlite3_close(own), SQLITE_OK);
    assert_string_equal(answer(loaded, "SELECT so_call('Cart', '1', 'add')"), "13");
    assert_int_equal(sqlite3_close(loaded), SQLITE_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(as_an_automatic_extension_it_is_in_every_connection, make_files,
                                        remove_files),
        cmocka_unit_test_setup_teardown(it_is_called_without_a_table_and_without_a_place_for_an_error,
                                        make_files, remove_files),
        cmocka_unit_test_setup_teardown(a_refusal_is_a_code_and_a_text_if_there_is_a_place_for_it, make_files,
                                        remove_files),
        cmocka_unit_test_setup_teardown(a_file_that_is_no_database_is_opened_as_ever, make_files,
                                        remove_files),
        cmocka_unit_test_setup_teardown(a_loaded_copy_and_the_program_s_own_work_side_by_side, make_files,
                                        remove_files),
    };

    return cmocka_run_group_tests_name("embedded", tests, NULL, NULL);
}
