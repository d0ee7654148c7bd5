# build/solidobj-bench: the load generator. Included by the top Makefile, whose variables and rules for objects and
# for SQL files as C strings it uses.

BENCH_OBJECTS := $(patsubst %.c,$(BUILD)/obj/bench/%.o,$(notdir $(wildcard tests/bench/*.c)))

all: $(BENCH)

$(BENCH): $(BENCH_OBJECTS)
	$(CC) -o $@ $^ $(SO_LDFLAGS) $(LDFLAGS) -lsqlite3 -ljansson -lm

$(BUILD)/gen/handlers_%.h: sql/handlers/%.sql
	$(call sql_header,so_sql_handlers_$*)

$(BUILD)/obj/bench/driver_sqlite.o: $(BUILD)/gen/floor_sqlite.h $(BUILD)/gen/handlers_sqlite.h

# What the statistics' tests need beside tests/bench/stats.c; none of it knows a database.
$(BUILD)/unit/test_bench_stats: $(BUILD)/obj/bench/plan.o $(BUILD)/obj/bench/error.o
