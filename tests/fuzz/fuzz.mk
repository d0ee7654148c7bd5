# build/fuzz/fuzz_*: the fuzzers, with clang's libFuzzer and sanitizers. Included by the top Makefile.
#
# tests/tools/fuzz.sh builds them with the variables that they need, replays their corpus and runs them:
#   make fuzz SECONDS=600

FUZZERS := $(patsubst tests/fuzz/%.c,$(BUILD)/%,$(wildcard tests/fuzz/fuzz_*.c))

# For all fuzzers together.
SECONDS ?= 60

.PHONY: fuzz fuzzers

fuzz:
	@tests/tools/packages.sh check
	@tests/tools/fuzz.sh $(SECONDS) build/found

fuzzers: $(FUZZERS)

$(BUILD)/obj/fuzz/%.o: tests/fuzz/%.c | $(SQL_HEADERS)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -Itests/conformance -c -o $@ $<

# The whole extension, and the invariants of the conformance suite.
FUZZ_SQL_OBJECTS := $(SQLITE_OBJECTS) $(patsubst %,$(BUILD)/obj/conformance/%.o,invariants scope value)

$(BUILD)/fuzz_sql: $(FUZZ_SQL_OBJECTS)

$(BUILD)/fuzz_%: $(BUILD)/obj/fuzz/fuzz_%.o $(COMMON_OBJECTS) $(JANSSON)
	$(CC) -fsanitize=fuzzer -o $@ $(filter %.o,$^) $(JANSSON) $(LDFLAGS) -lsqlite3 -lm
