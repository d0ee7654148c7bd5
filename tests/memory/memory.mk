# build/memory: what the extension takes of memory. Included by the top Makefile.

MEMORY := $(BUILD)/memory

.PHONY: memory

memory: $(LIBRARY) $(MEMORY)
	$(MEMORY) 1000000 $(LIBRARY)

$(BUILD)/obj/memory/%.o: tests/memory/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -c -o $@ $<

$(MEMORY): $(BUILD)/obj/memory/memory.o
	$(CC) -o $@ $^ $(LDFLAGS) -lsqlite3
