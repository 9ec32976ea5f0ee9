#!/usr/bin/env bash
# shell.sh: checks that every script parses, sets `set -e` or `set -u`, and is executable.
set -euo pipefail
status=0
for script in scripts/* .ci/run lab/bench/consolidation-cells; do
  [[ -f "$script" ]] || continue
  head -1 "$script" | grep -q bash || continue
  bash -n "$script" || status=1
  [[ -x "$script" ]] || { echo "$script: not executable (chmod +x)"; status=1; }
  grep -q '^set -[eu]' "$script" || { echo "$script: lacks 'set -euo pipefail'"; status=1; }
done
((status == 0)) && echo "shell: no breach"
exit "$status"
