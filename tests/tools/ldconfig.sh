#!/bin/sh
# After installing or removing the library: refresh the loader's list, where that is ours to do.
set -eu
ldconfig=$(command -v ldconfig || echo /sbin/ldconfig)
if [ -n "${DESTDIR:-}" ]; then
  exit 0 # a staged tree; whoever installs it for good runs ldconfig
elif [ "$(id -u)" = 0 ] && [ -x "$ldconfig" ]; then
  "$ldconfig"
else
  echo "Run 'sudo ldconfig' so that load_extension('solidobj') finds the library by its bare name."
fi
