// app: runs the command line of wattle-agent: run, sample, doctor.
// Gives    exit code 0 success, 1 failure (reported on stderr), 2 wrong usage or configuration
// Threads  single owner
#pragma once

namespace wattle::agent {

int run_app(int argc, char** argv);

}  // namespace wattle::agent
