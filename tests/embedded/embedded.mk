# build/libsolidobj.a: the same sources for an application that links them and loads no extension, and its tests.
# Included by the top Makefile, whose rules for objects it uses.

STATIC         := $(BUILD)/libsolidobj.a
STATIC_OBJECTS := $(patsubst sqlite_ext/%.c,$(BUILD)/obj/embedded/%.o,$(wildcard sqlite_ext/*.c))
EMBEDDED_TEST  := $(BUILD)/obj/embedded/test.o

.PHONY: static embedded

static: $(STATIC)

# SQLITE_CORE: calls SQLite by name instead of through the table that load_extension() hands over.
$(BUILD)/obj/embedded/%.o: sqlite_ext/%.c | $(SQL_HEADERS)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -DSQLITE_CORE -c -o $@ $<

# All in one object, in which the entry point is the only name that others see: the application's own functions, its own
# Jansson and a second copy of the library may be called as ours are.
$(STATIC): $(COMMON_OBJECTS) $(STATIC_OBJECTS) $(JANSSON)
	$(CC) -r -nostdlib -o $(BUILD)/obj/embedded/solidobj.all $^
	$(OBJCOPY) --keep-global-symbol=sqlite3_solidobj_init $(BUILD)/obj/embedded/solidobj.all $(BUILD)/obj/embedded/solidobj.o
	rm -f $@
	$(AR) rcs $@ $(BUILD)/obj/embedded/solidobj.o

$(EMBEDDED_TEST): tests/embedded/test.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -c -o $@ $<

# With the system's SQLite, and with SQLite in the program as well.
$(BUILD)/embedded/test_shared: $(EMBEDDED_TEST) $(STATIC)
	@mkdir -p $(@D)
	$(CC) -o $@ $^ $(LDFLAGS) -lcmocka -lsqlite3 -lm

$(BUILD)/embedded/test_whole: $(EMBEDDED_TEST) $(STATIC)
	@mkdir -p $(@D)
	$(CC) -o $@ $^ $(LDFLAGS) -lcmocka -l:libsqlite3.a -lm -ldl

embedded: $(BUILD)/embedded/test_shared $(BUILD)/embedded/test_whole
