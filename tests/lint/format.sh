#!/usr/bin/env bash
# format.sh CLANG_FORMAT: checks that every C++ source is formatted by .clang-format. Fix: clang-format -i FILE
set -euo pipefail
find common agent actuator models placement controller shim cli sim lab load tests -name '*.[ch]pp' -print0 |
  xargs -0 -n 40 "$1" --dry-run -Werror
echo "format: no breach"
