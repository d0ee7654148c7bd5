# solidobj: build, install, bench, check. `make help` lists the targets.
#
# Everything is built below $(BUILD). A second compiler or a sanitizer gets a directory of its own:
#   make CC=clang BUILD=build/clang
#   make BUILD=build/sanitized SANITIZE=address,undefined unit

BUILD    ?= build
PREFIX   ?= /usr/local
DESTDIR  ?=
SANITIZE ?=

ifeq ($(origin CC),default)
CC := gcc
endif
OBJCOPY ?= objcopy

WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Werror
CFLAGS   ?= -O2 -g

# What must hold whatever the caller's flags are; CFLAGS and LDFLAGS then say it all, here and in the included files.
override CFLAGS  := -std=c11 -D_GNU_SOURCE $(WARNINGS) -fPIC -fvisibility=hidden -pthread -MMD -MP \
                    -I$(BUILD)/gen -Icommon -Isqlite_ext $(CFLAGS)
override LDFLAGS := -pthread $(LDFLAGS)
ifneq ($(SANITIZE),)
override CFLAGS  += -fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer
override LDFLAGS += -fsanitize=$(SANITIZE)
endif

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SECONDARY:
.SUFFIXES:

# ---- what there is ------------------------------------------------------------------------------

COMMON_OBJECTS := $(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard common/*.c))
SQLITE_OBJECTS := $(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard sqlite_ext/*.c))
UNIT_TESTS     := $(patsubst tests/unit/%.c,$(BUILD)/unit/%,$(wildcard tests/unit/test_*.c))
SQL_HEADERS    := $(patsubst sql/sqlite/%.sql,$(BUILD)/gen/sqlite_%.h,$(wildcard sql/sqlite/*.sql)) \
                  $(patsubst sql/floor/%.sql,$(BUILD)/gen/floor_%.h,$(wildcard sql/floor/*.sql)) \
                  $(patsubst sql/handlers/%.sql,$(BUILD)/gen/handlers_%.h,$(wildcard sql/handlers/*.sql))
JANSSON        := $(BUILD)/libjansson-pic.a
LIBRARY        := $(BUILD)/solidobj.so
BENCH          := $(BUILD)/solidobj-bench
CONFORMANCE    := $(BUILD)/conformance

.PHONY: all generated unit bench check check-quick check-docs check-format check-static check-unit \
        check-conformance check-fuzz check-memory check-unstable torture install uninstall format clean help

all: $(LIBRARY) $(BENCH)

# $(BENCH), $(CONFORMANCE), $(STATIC)
include tests/bench/bench.mk
-include tests/conformance/conformance.mk
-include tests/fuzz/fuzz.mk
-include tests/memory/memory.mk
include tests/embedded/embedded.mk
include tests/fault/fault.mk

# ---- SQL files as C strings: sql/sqlite/schema.sql -> gen/sqlite_schema.h, `so_sql_schema` --------

# Line by line, nothing taken away; a second question mark is escaped because C11 still knows trigraphs.
define sql_header
	@mkdir -p $(@D)
	@{ echo '/* Made from $<. */' && \
	   echo 'static const char $(1)[] =' && \
	   sed -e 's/[\\"]/\\&/g' -e 's/??/?\\?/g' -e 's/.*/    "&\\n"/' $< && \
	   echo '    "";'; } >$@
endef

$(BUILD)/gen/sqlite_%.h: sql/sqlite/%.sql
	$(call sql_header,so_sql_$*)

$(BUILD)/gen/floor_%.h: sql/floor/%.sql
	$(call sql_header,so_sql_floor_$*)

$(BUILD)/gen/handlers_%.h: sql/handlers/%.sql
	$(call sql_header,so_sql_handlers_$*)

generated: $(SQL_HEADERS)

# ---- objects --------------------------------------------------------------------------------------

# The generated headers come first; afterwards the dependency files know who includes which.
$(BUILD)/obj/%.o: %.c | $(SQL_HEADERS)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -c -o $@ $<

$(BUILD)/obj/unit/%.o: tests/unit/%.c | $(SQL_HEADERS)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -c -o $@ $<

$(BUILD)/obj/bench/%.o: tests/bench/%.c | $(SQL_HEADERS)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -c -o $@ $<

$(BUILD)/obj/conformance/%.o: tests/conformance/%.c | $(SQL_HEADERS)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -c -o $@ $<

-include $(wildcard $(BUILD)/obj/*/*.d)

# ---- the library ----------------------------------------------------------------------------------

# The distribution's static Jansson is position independent but for its one use of stdin, which a shared
# library cannot reach by a direct relocation; common/ defines the hidden so_json_stdin in its place.
$(JANSSON):
	@mkdir -p $(@D)
	$(OBJCOPY) --redefine-sym stdin=so_json_stdin "$$($(CC) -print-file-name=libjansson.a)" $@

# The soname equals the file's name: this is what lets ldconfig list the library (see `install`). The file is put in
# its place at once, so that a process that has the old one loaded keeps it.
$(LIBRARY): $(COMMON_OBJECTS) $(SQLITE_OBJECTS) $(JANSSON)
	$(CC) -shared -o $@.new $(COMMON_OBJECTS) $(SQLITE_OBJECTS) $(JANSSON) $(LDFLAGS) -lm \
	    -Wl,-soname,solidobj.so -Wl,--exclude-libs,ALL -Wl,-Bsymbolic -Wl,-z,defs
	mv $@.new $@

# ---- unit tests: one program per tests/unit/test_*.c ------------------------------------------------

$(BUILD)/unit/test_bench_%: $(BUILD)/obj/unit/test_bench_%.o $(BUILD)/obj/bench/stats.o $(COMMON_OBJECTS) $(JANSSON)
	@mkdir -p $(@D)
	$(CC) -o $@ $^ $(LDFLAGS) -lcmocka -lm

$(BUILD)/unit/test_%: $(BUILD)/obj/unit/test_%.o $(COMMON_OBJECTS) $(JANSSON)
	@mkdir -p $(@D)
	$(CC) -o $@ $^ $(LDFLAGS) -lcmocka -lm

unit: $(UNIT_TESTS)

# ---- bench and checks: each looks first whether the machine has what it needs ------------------------

bench:
	@tests/tools/packages.sh bench
	@tests/tools/bench.sh

check:
	@tests/tools/packages.sh check
	@tests/tools/check.sh all

check-quick:
	@tests/tools/packages.sh check
	@tests/tools/check.sh quick

check-docs check-format check-static check-unit check-conformance check-fuzz check-memory check-unstable:
	@tests/tools/packages.sh check
	@tests/tools/check.sh $(@:check-%=%)

# Another seed each time; SEED=N repeats one.
MINUTES ?= 30
torture: $(LIBRARY)
	@tests/tools/packages.sh check
	@tests/torture/torture.py --minutes $(MINUTES) $(if $(SEED),--seed $(SEED))

# ---- install ------------------------------------------------------------------------------------------

# SELECT load_extension('solidobj') makes SQLite ask the loader for "solidobj" and then "solidobj.so". The loader
# finds a bare name outside its built-in directories only through ldconfig's list, and ldconfig looks only at
# files named lib*: the link gives it one, and it lists the library under its soname, solidobj.so.
install: $(LIBRARY) $(BENCH)
	install -d $(DESTDIR)$(PREFIX)/lib $(DESTDIR)$(PREFIX)/bin
	install -m 755 $(LIBRARY) $(DESTDIR)$(PREFIX)/lib/solidobj.so
	ln -sf solidobj.so $(DESTDIR)$(PREFIX)/lib/libsolidobj.so
	install -m 755 $(BENCH) $(DESTDIR)$(PREFIX)/bin/solidobj-bench
	@DESTDIR='$(DESTDIR)' tests/tools/ldconfig.sh

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/lib/solidobj.so $(DESTDIR)$(PREFIX)/lib/libsolidobj.so
	rm -f $(DESTDIR)$(PREFIX)/bin/solidobj-bench
	@DESTDIR='$(DESTDIR)' tests/tools/ldconfig.sh

format:
	find common sqlite_ext tests -name '*.[ch]' | xargs clang-format -i

clean:
	rm -rf $(BUILD)

help:
	@sed -n '/^#: /s///p' $(firstword $(MAKEFILE_LIST))

#: make                    build/solidobj.so and build/solidobj-bench
#: make static             build/libsolidobj.a, to be linked into an application
#: make bench              build, then measure the quick matrix on SQLite (under two minutes)
#: make check              everything that must hold: format, static analysis, both compilers, all tests, the documents
#: make check-quick        the same without clang, sanitizers and documents
#: make check-docs         run what README.md and docs/ tell people to type
#: make check-format       clang-format
#: make check-static       clang-tidy
#: make check-unit         unit tests
#: make check-conformance  the conformance suite
#: make check-unstable     builds and tests once more in a Debian unstable system (made once in /var/cache/solidobj)
#: make fuzz SECONDS=600   the fuzzers, for so long
#: make memory             what a connection takes, and what a million calls leave
#: make fault              memory, files and the disk fail at every chance of a scenario: an hour or two
#: make torture            crash and concurrency for MINUTES=30: kills, many processes, a checker; stops at a finding
#: make install            into $(PREFIX)/lib and $(PREFIX)/bin; PREFIX=/usr/local
#: make uninstall
#: make format             rewrite all C files in the house format
#: make clean
