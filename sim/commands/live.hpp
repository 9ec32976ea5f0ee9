// live: the commands that simulate nodes and a scheduler for real parts of Wattle; all that scripts/demo uses of
// wattle-sim.
// Threads  main thread
#pragma once

#include "sim/app.hpp"

namespace wattle::sim::commands {

int churn(int argc, char** argv);
int drive(int argc, char** argv);
int swarm(int argc, char** argv);

inline constexpr Subcommand kSwarm{
    "swarm", "simulate many nodes that use the agents' protocol and run the pods that they get", swarm};
inline constexpr Subcommand kDrive{"drive", "simulate a kube-scheduler through the extender protocol", drive};
inline constexpr Subcommand kChurn{
    "churn", "create and delete pods on a Kubernetes API server and report how long they waited for a node", churn};

}  // namespace wattle::sim::commands
