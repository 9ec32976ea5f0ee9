#include <array>

#include "sim/commands/commands.hpp"
#include "sim/commands/live.hpp"

namespace wattle::sim::commands {

namespace {

constexpr std::array kSubcommands {
  Subcommand{"scenarios", "list the scenarios", commands::scenarios},
      Subcommand{"env", "provide an environment over JSON lines for external training", commands::env},
      Subcommand{"eval", "evaluate a trained network, its initial weights and fixed rules on held-out seeds",
                 commands::eval},
      Subcommand{
          "bench",
          "evaluate rules and a network on every scenario; bench consolidation_fill or _churn: one, by its gap to "
          "full knowledge",
          commands::bench, "consolidation_fill"},
      Subcommand{"shadow", "compare the saving modelled by mode shadow with the saving of live mode", commands::shadow},
      Subcommand{"speed", "measure placements per second of processor time for each rule", commands::speed},
      Subcommand{"sweep", "measure throughput, response time and power of each server at each load", commands::sweep},
      Subcommand{"profile",
                 "measure throughput, latency and power of a service on this machine under CPU quotas and load",
                 commands::profile},
      Subcommand{"provision", "evaluate rules that set CPU limits on rate traces", commands::provision},
      Subcommand{"provision-env", "provide an environment over JSON lines for setting CPU limits",
                 commands::provision_env},
      Subcommand{"requests", "compare the rule for CPU requests with VPA's on days of use", commands::requests},
      Subcommand{"labels", "label choices on consolidation by paired rollouts, for `train consolidation`",
                 commands::labels},
#if WATTLE_HAS_TORCH
      Subcommand{"train", "train a network online in the simulated loop; train consolidation: from labels",
                 commands::train, "consolidation"},
      Subcommand{
          "ablate",
          "measure the value of each part of learning, omitted one at a time; ablate consolidation: of imitation",
          commands::ablate, "consolidation"},
      Subcommand{"adapt", "measure the gain of online learning on consolidation over the initial network, per cluster",
                 commands::adapt},
      Subcommand{"improve", "learn from recorded days of a cluster, and write the network if other days confirm it",
                 commands::improve},
      Subcommand{"teach", "train a teacher and a student for provisioning, and compare both with the rule",
                 commands::teach},
      Subcommand{"online", "continue learning on consolidation from outcomes only", commands::online},
#endif
      kSwarm, kDrive, kChurn,
};

}  // namespace

std::span<const Subcommand> all() { return kSubcommands; }

}  // namespace wattle::sim::commands
