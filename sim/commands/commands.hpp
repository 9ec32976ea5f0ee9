// commands: the subcommands in the table of all.cpp, one file each. argv[0] is the subcommand; returns the exit code.
// Threads  main thread
#pragma once

#include "sim/app.hpp"

namespace wattle::sim::commands {

std::span<const Subcommand> all();  // the subcommands of wattle-sim

int churn(int argc, char** argv);
int drive(int argc, char** argv);
int env(int argc, char** argv);
int eval(int argc, char** argv);
int improve(int argc, char** argv);  // from recorded days
int profile(int argc, char** argv);
int provision_env(int argc, char** argv);
int scenarios(int argc, char** argv);
int swarm(int argc, char** argv);
int teach(int argc, char** argv);  // the network that steers provisioning
int train(int argc, char** argv);  // in the simulated loop

// The commands that the Python package uses, in the program wattle-sim-env.
inline constexpr Subcommand kListScenarios{"scenarios", "list the scenarios", scenarios};
inline constexpr Subcommand kEnv{"env", "provide an environment over JSON lines for external training", env};
inline constexpr Subcommand kProvisionEnv{
    "provision-env", "provide an environment over JSON lines for setting CPU limits", provision_env};
// The commands that scripts/demo uses, nodes and a scheduler for real parts of Wattle, in the program wattle-sim-live.
inline constexpr Subcommand kSwarm{
    "swarm", "simulate many nodes that use the agents' protocol and run the pods bound to them", swarm};
inline constexpr Subcommand kDrive{"drive", "simulate a kube-scheduler through the extender protocol", drive};
inline constexpr Subcommand kChurn{
    "churn", "create and delete pods on a Kubernetes API server and report how long they waited for a node", churn};

}  // namespace wattle::sim::commands
