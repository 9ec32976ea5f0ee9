#include <array>

#include "sim/commands/commands.hpp"

namespace wattle::sim::commands {

namespace {

constexpr std::array kSubcommands {
  kListScenarios, kEnv,
      Subcommand{"eval", "evaluate a trained network, its initial weights and fixed rules on held-out seeds",
                 commands::eval},
      Subcommand{"profile",
                 "measure throughput, latency and power of a service on this machine under CPU quotas and load",
                 commands::profile},
      kProvisionEnv,
#if WATTLE_HAS_TORCH
      Subcommand{"train", "train a network online in the simulated loop", commands::train},
      Subcommand{"improve", "learn from recorded days of a cluster, and write the network if other days confirm it",
                 commands::improve},
      Subcommand{"teach", "train a teacher and a student for provisioning, and compare both with the rule",
                 commands::teach},
#endif
      kSwarm, kDrive, kChurn,
};

}  // namespace

std::span<const Subcommand> all() { return kSubcommands; }

}  // namespace wattle::sim::commands
