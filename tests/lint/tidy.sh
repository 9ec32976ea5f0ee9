#!/usr/bin/env bash
# tidy.sh BUILD_DIR [FILE...]: runs clang-tidy with .clang-tidy on all sources (or the named ones); any finding fails.
# BUILD_DIR has compile_commands.json of a clang build.
set -euo pipefail
build=$1
shift
files=("$@")
((${#files[@]})) || mapfile -t files < <(find common agent actuator models placement controller shim cli sim lab load -name '*.cpp' | sort)
printf '%s\0' "${files[@]}" | xargs -0 -n 1 -P "$(nproc)" clang-tidy -p "$build" --quiet 2>/dev/null
echo "tidy: ${#files[@]} files without a finding"
