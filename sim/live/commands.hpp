// commands: `wattle-sim swarm`, `wattle-sim drive` and `wattle-sim churn`.
// Errors   exit codes: 0 done, 1 the world failed (message on standard error), 2 wrong usage
// Threads  main thread; all block SIGINT, SIGTERM and SIGHUP and end cleanly on them
#pragma once

namespace wattle::sim::live {

int swarm_command(int argc, char** argv);
int drive_command(int argc, char** argv);
int churn_command(int argc, char** argv);

}  // namespace wattle::sim::live
