#!/bin/bash
# All memory comes from the database's allocator: otherwise its limits and the fault injection see only a part of it.
# The one exception is what so_json_use_allocator() replaces (so_json.h).
set -u
cd "$(dirname "$0")/../.." || exit 1

foreign='malloc|calloc|realloc|reallocarray|aligned_alloc|posix_memalign|free|strdup|strndup|asprintf|vasprintf|getline|fopen'
found=0
objects=0
for object in build/obj/common/*.o build/obj/sqlite_ext/*.o; do
  objects=$((objects + 1))
  names=$(nm -u "$object" | awk '{ print $2 }' | grep -xE "$foreign" | sort | tr '\n' ' ')
  [ "$object" = build/obj/common/so_json_check.o ] && [ "$names" = 'free malloc ' ] && continue
  [ -z "$names" ] && continue
  echo "$object uses $names"
  found=1
done
[ "$objects" -gt 20 ] || { echo "only $objects objects were found" && exit 1; }
exit "$found"
