# build/fault: the fault injection. Included by the top Makefile, whose rules for objects it uses.
#
# It shares the driver and the invariants of the conformance suite.

.PHONY: fault

# Every chance, which takes an hour or two; check.sh tries some.
fault: $(LIBRARY) $(BUILD)/fault
	$(BUILD)/fault --every --extension $(LIBRARY)

FAULT_OBJECTS := $(patsubst tests/fault/%.c,$(BUILD)/obj/fault/%.o,$(wildcard tests/fault/*.c)) \
                 $(patsubst %,$(BUILD)/obj/conformance/%.o,driver_sqlite invariants scope value)

$(BUILD)/obj/fault/%.o: tests/fault/%.c | $(SQL_HEADERS)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -c -o $@ $<

$(BUILD)/fault: $(FAULT_OBJECTS)
	$(CC) -o $@ $^ $(LDFLAGS) -lsqlite3 -ljansson -ldl
