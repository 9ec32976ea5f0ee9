#include <array>

#include "sim/commands/commands.hpp"
#include "sim/commands/live.hpp"

namespace wattle::sim::commands {

namespace {

constexpr std::array kSubcommands {
  Subcommand{"scenarios", "list what can be simulated", commands::scenarios},
      Subcommand{"env", "an environment over JSON lines, for others to train against", commands::env},
      Subcommand{"eval", "judge a trained network, its initial weights and fixed rules on held-out seeds",
                 commands::eval},
      Subcommand{"bench",
                 "judge rules and a network on every scenario; bench consolidation_fill or _churn: one, by its gap to "
                 "full knowledge",
                 commands::bench, "consolidation_fill"},
      Subcommand{"shadow", "what mode shadow says that acting would save, beside what acting then does",
                 commands::shadow},
      Subcommand{"speed", "placements a second of processor time, rule by rule", commands::speed},
      Subcommand{"sweep", "throughput, response and watts of each server at each load", commands::sweep},
      Subcommand{"profile", "throughput, latency and watts of a service of this machine under CPU quotas and load",
                 commands::profile},
      Subcommand{"provision", "judge rules that set CPU limits, on rate traces", commands::provision},
      Subcommand{"provision-env", "an environment over JSON lines in which somebody sets CPU limits",
                 commands::provision_env},
      Subcommand{"requests", "judge the rule of CPU requests against VPA's, on days of use", commands::requests},
      Subcommand{"labels",
                 "judge choices on consolidation by what would have followed; what `train consolidation` learns from",
                 commands::labels},
#if WATTLE_HAS_TORCH
      Subcommand{"train", "train a network online in the simulated loop; train consolidation: from labels",
                 commands::train, "consolidation"},
      Subcommand{"ablate",
                 "what each part of learning is worth, one left out at a time; ablate consolidation: of imitation",
                 commands::ablate, "consolidation"},
      Subcommand{"adapt",
                 "what learning online on consolidation gains, cluster by cluster, over the network it starts from",
                 commands::adapt},
      Subcommand{"improve", "learn from a cluster's own recorded days, and keep what other days confirm",
                 commands::improve},
      Subcommand{"teach", "teach who steers provisioning, and a student; judge both beside the rule", commands::teach},
      Subcommand{"online", "go on learning on consolidation from outcomes alone", commands::online},
#endif
      kSwarm, kDrive, kChurn,
};

}  // namespace

std::span<const Subcommand> all() { return kSubcommands; }

}  // namespace wattle::sim::commands
