module wattle.dev/scheduler

go 1.24.0
