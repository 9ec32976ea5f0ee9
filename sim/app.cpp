#include "sim/app.hpp"

#include <array>
#include <cstdio>
#include <string>

#include "common/cmdline/man_page.hpp"
#include "common/version.hpp"
#include "sim/commands/commands.hpp"

namespace wattle::sim {

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
      Subcommand{"online", "go on learning on consolidation from outcomes alone", commands::online},
#endif
      Subcommand{"swarm", "play many nodes that speak the agents' protocol and run the pods they get", commands::swarm},
      Subcommand{"drive", "play a kube-scheduler through the extender protocol, pod after pod", commands::drive},
      Subcommand{"churn", "create and delete pods on a Kubernetes API server and tell how long they waited for a node",
                 commands::churn},
};

void usage(std::FILE* to) {
  std::fputs("usage: wattle-sim COMMAND [OPTIONS]   (wattle-sim COMMAND --help)\n\n", to);
  for (const Subcommand& each : kSubcommands)
    std::fprintf(to, "  %-12s %s\n", std::string(each.name).c_str(), std::string(each.help).c_str());
}

// Each command tells its own part; nothing of it is known here but its name.
int man_page(const char* section) {
  cmdline::Outline program{
      "wattle-sim",
      "simulates clusters, and judges on them who places workloads",
      "",
      {{.names = {"-h", "--help"}, .text = "Print the list of commands; of a command: its options"},
       {.names = {"--version"}, .text = "Print the version"}},
      {},
      {}};
  for (const Subcommand& each : kSubcommands)
    program.commands.push_back({std::string(each.name), std::string(each.help), "", {}, {}, {}});
  std::fputs(cmdline::man_head(program, section, kVersion).c_str(), stdout);
  for (const Subcommand& each : kSubcommands) {
    std::string name(each.name), variant(each.variant), part = "--man-part";
    std::array<char*, 3> words{name.data(), part.data(), nullptr};
    if (const int code = each.run(2, words.data()); code != 0) return code;
    if (variant.empty()) continue;
    words = {name.data(), variant.data(), part.data()};
    if (const int code = each.run(3, words.data()); code != 0) return code;
  }
  std::fputs(cmdline::man_tail(program).c_str(), stdout);
  return 0;
}

}  // namespace

int run_app(int argc, char** argv) {
  const std::string_view name = argc > 1 ? argv[1] : "";
  for (const Subcommand& each : kSubcommands)
    if (each.name == name) return each.run(argc - 1, argv + 1);
  if (name == "--help" || name == "-h") {
    usage(stdout);
    return 0;
  }
  if (name == "--man-page" && argc == 3) return man_page(argv[2]);
  if (name == "--version") {
    std::printf("wattle-sim %s\n", std::string(kVersion).c_str());
    return 0;
  }
  if (!name.empty()) std::fprintf(stderr, "wattle-sim: there is no command '%s'\n", std::string(name).c_str());
  usage(stderr);
  return 2;
}

}  // namespace wattle::sim
