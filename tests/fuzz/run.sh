#!/usr/bin/env bash
# run.sh BIN_DIR: runs every fuzz target for WATTLE_FUZZ_SECONDS (default 60), from its seeds and earlier findings.
# Prints executions and coverage of each; stops at the first failure and prints the input that caused it.
set -euo pipefail
bin=$1
here=$(cd "$(dirname "$0")" && pwd)
for target in "$bin"/fuzz_*; do
  name=$(basename "$target")
  found=$(dirname "$bin")/tests/fuzz/found/$name/
  mkdir -p "$found"
  echo "== $name"
  "$target" -max_total_time="${WATTLE_FUZZ_SECONDS:-60}" -timeout=5 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="$found" "$found" "$here/corpus/$name" 2>&1 | grep -E '^(Done|stat::number_of_executed_units|==|SUMMARY|artifact)' || exit 1
done
