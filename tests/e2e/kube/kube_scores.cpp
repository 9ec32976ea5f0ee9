// kube_scores: what sim/world/kube_scoring makes of pods, for a comparison with a real kube-scheduler.
// Source   standard input: a line {"nodes": [{"name", "milli_cpu", "memory_bytes", "pods"}]}, then a line for each pod {"milli_cpu",
//          "memory_bytes"} and, when it has been bound, a line {"bound": node}
// Gives    for each pod a line {node: {"fit": score, "balanced": score}} of the nodes that it fits on
// Errors   exit 2: a line that makes no sense
#include <algorithm>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "common/json/value.hpp"
#include "sim/world/kube_scoring.hpp"

namespace {

using json = wattle::SortedJson;
using namespace wattle::sim;

struct Nodes {
  std::vector<std::string> names;
  std::vector<KubeNode> nodes;
};

json scores(const Nodes& all, const KubePod& pod) {
  json out = json::object();
  for (std::size_t i = 0; i < all.nodes.size(); ++i) {
    if (!fits(all.nodes[i], pod)) continue;
    out[all.names[i]] = {{"fit", least_allocated(all.nodes[i], pod)},
                         {"balanced", balanced_allocation(all.nodes[i], pod)}};
  }
  return out;
}

int run() {
  Nodes all;
  std::optional<KubePod> pod;
  for (std::string line; std::getline(std::cin, line);) {
    const json told = json::parse(line);
    if (told.contains("nodes")) {
      for (const json& node : told["nodes"]) {
        KubeNode made;
        made.allocatable_milli_cpu = node["milli_cpu"].get<std::int64_t>();
        made.allocatable_memory_bytes = node["memory_bytes"].get<std::int64_t>();
        made.allocatable_pods = node["pods"].get<int>();
        all.names.push_back(node["name"].get<std::string>());
        all.nodes.push_back(made);
      }
    } else if (told.contains("bound")) {
      const auto at = std::find(all.names.begin(), all.names.end(), told["bound"].get<std::string>());
      if (at == all.names.end() || !pod) return 2;
      add_pod(all.nodes[static_cast<std::size_t>(at - all.names.begin())], *pod);
    } else {
      pod = KubePod{told["milli_cpu"].get<std::int64_t>(), told["memory_bytes"].get<std::int64_t>()};
      std::cout << scores(all, *pod).dump() << std::endl;
    }
  }
  return 0;
}

}  // namespace

int main() {
  try {
    return run();
  } catch (const json::exception& error) {
    std::cerr << "kube_scores: " << error.what() << '\n';
    return 2;
  }
}
