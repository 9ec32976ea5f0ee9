// The names, and the rules that are too small for a file: kube-scheduler's MostAllocated (noderesources/most_allocated.go) and
// the argmax heuristics of the latency scheduler's thesis, the node with the fewest or the most pods.
#include "sim/baselines/registry.hpp"

#include <array>
#include <string>

namespace wattle::sim {

namespace {

class MostAllocated final : public Baseline {
 public:
  std::string_view name() const override { return "most_allocated"; }
  std::vector<double> score(const Sight& sight) override {
    const KubePod pod = kube_pod(sight.pod.request);
    std::vector<double> scores(sight.nodes.size(), 0);
    for (const std::size_t i : sight.feasible) scores[i] = static_cast<double>(most_allocated(sight.nodes[i], pod));
    return scores;
  }
};

class ByPods final : public Baseline {
 public:
  ByPods(std::string_view name, double sign) : name_(name), sign_(sign) {}
  std::string_view name() const override { return name_; }
  std::vector<double> score(const Sight& sight) override {
    std::vector<double> scores;
    for (const KubeNode& node : sight.nodes) scores.push_back(sign_ * static_cast<double>(node.pods));
    return scores;
  }

 private:
  std::string_view name_;
  double sign_;
};

constexpr std::array<std::string_view, 6> kNames{"most_allocated", "target_load_packing", "lvrb",
                                                 "koordinator",    "fewest_pods",         "most_pods"};

}  // namespace

std::span<const std::string_view> baseline_names() { return kNames; }

Result<std::unique_ptr<Baseline>> make_baseline(std::string_view name) {
  if (name == "most_allocated") return std::make_unique<MostAllocated>();
  if (name == "target_load_packing") return make_target_load_packing();
  if (name == "lvrb") return make_lvrb();
  if (name == "koordinator") return make_koordinator();
  if (name == "fewest_pods") return std::make_unique<ByPods>(kNames[4], -1.0);
  if (name == "most_pods") return std::make_unique<ByPods>(kNames[5], 1.0);
  std::string names;
  for (const std::string_view each : kNames) names += (names.empty() ? "one of " : ", ") + std::string(each);
  return fail(Errc::not_found, "baseline " + std::string(name), "is not known", names);
}

}  // namespace wattle::sim
