# build/conformance: the runner of the conformance suite. Included by the top Makefile, whose rules for objects it uses.
#
# It links the system's Jansson, not the copy made for the library: a program needs nothing hidden.

CONFORMANCE_OBJECTS := $(patsubst tests/conformance/%.c,$(BUILD)/obj/conformance/%.o,$(wildcard tests/conformance/*.c))

.PHONY: conformance-selftest

$(BUILD)/conformance: $(CONFORMANCE_OBJECTS)
	$(CC) -o $@ $^ $(LDFLAGS) -lsqlite3 -ljansson

# Wrong expectations must be reported, each in its own way; without --selftest the same tests must all fail.
conformance-selftest: $(BUILD)/conformance
	$(BUILD)/conformance --selftest --extension none tests/conformance/selftest
	$(BUILD)/conformance --extension none tests/conformance/selftest >$(BUILD)/selftest.out; test $$? -eq 1
	grep -q '^0 passed, [1-9][0-9]* failed, 0 skipped$$' $(BUILD)/selftest.out
