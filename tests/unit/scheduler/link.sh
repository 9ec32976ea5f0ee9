#!/usr/bin/env bash
# link: runs the Go tests of scheduler/link, which use only the standard library.
# Skips    (77) without Go 1.24 or later
set -euo pipefail
cd "$(dirname "$0")/../../../scheduler"
export GOTOOLCHAIN=local GOFLAGS=-mod=mod GOWORK=off
if ! command -v go >/dev/null; then
  echo "[skipped] there is no Go here (package golang-go of a Debian after 12, or go.dev/dl)"
  exit 77
fi
if ! go list ./link >/dev/null 2>&1; then
  echo "[skipped] scheduler/go.mod needs a newer Go: $(go version)"
  exit 77
fi
unformatted=$(gofmt -l .)
if [[ -n "$unformatted" ]]; then
  echo "not formatted (run gofmt -w): $unformatted"
  exit 1
fi
go vet ./link
go test -count=1 ./link
