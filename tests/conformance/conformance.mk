# build/conformance: the runner of the conformance suite. Included by the top Makefile, whose rules for objects it uses.
#
# It links the system's Jansson, not the copy made for the library: a program needs nothing hidden.

CONFORMANCE_SOURCES := $(wildcard tests/conformance/*.c)
CONFORMANCE_LIBRARIES := -lsqlite3 -ljansson

# The PostgreSQL driver, where its client library is.
ifeq ($(shell command -v pg_config),)
CONFORMANCE_SOURCES := $(filter-out %/driver_postgres.c,$(CONFORMANCE_SOURCES))
else
CONFORMANCE_LIBRARIES += -lpq
$(BUILD)/obj/conformance/runner.o: override CFLAGS += -DCF_POSTGRES
endif

CONFORMANCE_OBJECTS := $(patsubst tests/conformance/%.c,$(BUILD)/obj/conformance/%.o,$(CONFORMANCE_SOURCES))

.PHONY: conformance-selftest

$(BUILD)/conformance: $(CONFORMANCE_OBJECTS)
	$(CC) -o $@ $^ $(LDFLAGS) $(CONFORMANCE_LIBRARIES)

# Wrong expectations must be reported, each in its own way; without --selftest the same tests must all fail.
conformance-selftest: $(BUILD)/conformance
	$(BUILD)/conformance --selftest --extension none tests/conformance/selftest
	$(BUILD)/conformance --extension none tests/conformance/selftest >$(BUILD)/selftest.out; test $$? -eq 1
	grep -q '^0 passed, [1-9][0-9]* failed, 0 skipped$$' $(BUILD)/selftest.out
