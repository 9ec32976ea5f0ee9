// kube_scores: scores of sim/world/kube_scoring, for a comparison with a real kube-scheduler.
// Source   standard input: a line {"nodes": [{"name", "milli_cpu", "memory_bytes", "pods"}]}, then a line for each pod
//          {"milli_cpu", "memory_bytes", "packed"} and, when it has been bound, a line {"bound": node}. packed:
//          MostAllocated in place of LeastAllocated
// Output   for each pod a line {node: {"fit", "balanced"}} of the nodes that it fits on
// Errors   exit 2: an invalid line
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

struct Asked {
  KubePod pod;
  bool packed = false;
};

json scores(const Nodes& all, const Asked& asked) {
  json out = json::object();
  for (std::size_t i = 0; i < all.nodes.size(); ++i) {
    const KubeNode& node = all.nodes[i];
    if (!fits(node, asked.pod)) continue;
    out[all.names[i]] = {{"fit", asked.packed ? most_allocated(node, asked.pod) : least_allocated(node, asked.pod)},
                         {"balanced", balanced_allocation(node, asked.pod)}};
  }
  return out;
}

int run() {
  Nodes all;
  std::optional<Asked> asked;
  for (std::string line; std::getline(std::cin, line);) {
    const json reported = json::parse(line);
    if (reported.contains("nodes")) {
      for (const json& node : reported["nodes"]) {
        KubeNode made;
        made.allocatable_milli_cpu = node["milli_cpu"].get<std::int64_t>();
        made.allocatable_memory_bytes = node["memory_bytes"].get<std::int64_t>();
        made.allocatable_pods = node["pods"].get<int>();
        all.names.push_back(node["name"].get<std::string>());
        all.nodes.push_back(made);
      }
    } else if (reported.contains("bound")) {
      const auto at = std::find(all.names.begin(), all.names.end(), reported["bound"].get<std::string>());
      if (at == all.names.end() || !asked) return 2;
      add_pod(all.nodes[static_cast<std::size_t>(at - all.names.begin())], asked->pod);
    } else {
      asked = Asked{KubePod{reported["milli_cpu"].get<std::int64_t>(), reported["memory_bytes"].get<std::int64_t>()},
                    reported["packed"].get<bool>()};
      std::cout << scores(all, *asked).dump() << std::endl;
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
