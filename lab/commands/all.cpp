#include <array>

#include "lab/commands/commands.hpp"

namespace wattle::sim::commands {

namespace {

constexpr std::array kLabSubcommands {
  Subcommand{"bench",
             "evaluate rules and a network on every scenario; bench consolidation_fill or _churn: one, by its gap to "
             "full knowledge",
             commands::bench, "consolidation_fill"},
      Subcommand{"shadow", "compare the saving modelled by mode shadow with the saving of live mode", commands::shadow},
      Subcommand{"savings", "compare what right sizes are projected to save with what they save", commands::savings},
      Subcommand{"sleep", "compare rules that put nodes to sleep", commands::sleep},
      Subcommand{"provision", "evaluate rules that set CPU limits on rate traces", commands::provision},
      Subcommand{"requests", "play the rule for requests on histories of use", commands::requests},
      Subcommand{"labels", "label choices on consolidation by paired rollouts, for `imitate`", commands::labels},
#if WATTLE_HAS_TORCH
      Subcommand{"imitate", "train a network from labels", commands::imitate},
      Subcommand{"worlds", "compare policies and online learning in worlds where experience counts", commands::worlds},
#endif
};

}  // namespace

std::span<const Subcommand> all_of_lab() { return kLabSubcommands; }

}  // namespace wattle::sim::commands
