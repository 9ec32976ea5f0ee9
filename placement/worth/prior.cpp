#include "placement/worth/prior.hpp"

#include <algorithm>
#include <cmath>

#include "placement/cluster/waiting.hpp"
#include "placement/worth/features.hpp"
#include "placement/worth/outcome.hpp"

namespace wattle::placement {

namespace {

constexpr double kWattsOfGrade = 0.05;  // decides among nodes of nearly equal load with ee
constexpr double kOfNext = 0.5;         // weight of the next placement's expected reward beside this one's

double or_zero(double value) { return std::isfinite(value) ? value : 0.0; }
double share_of(double of, double whole) { return whole > 0 ? or_zero(of / whole) : 0.0; }

// Sum and squares of one share, from which the deviation with the pod on any one node follows directly.
class Spread {
 public:
  void add(double share) {
    sum_ += share;
    squares_ += share * share;
    ++count_;
  }
  double deviation(double before, double after) const {
    const double count = std::max(count_, 1.0), mean = (sum_ - before + after) / count;
    return std::sqrt(std::max(0.0, (squares_ - before * before + after * after) / count - mean * mean));
  }

 private:
  double sum_ = 0, squares_ = 0, count_ = 0;
};

// The compared nodes, and the expected outcome on each.
class Compared {
 public:
  Compared(const RewardConfig& config, const PodOutlook& pod, std::span<const Outlook> nodes) : config_(config) {
    for (const Outlook& node : nodes) {
      counts_.add(node.now, false);
      cpu_.add(node.now.cpu_ratio);
      memory_.add(node.now.memory_ratio);
      least_w_ = std::min(least_w_, node.added_w);
      most_w_ = std::max(most_w_, node.added_w);
    }
    outcome_.latency_soft_ms = pod.latency_soft_ms;
    outcome_.latency_hard_ms = pod.latency_hard_ms;
    outcome_.expected_life_s = pod.life_s.value_or(config.horizon_s);
  }

  PredictedTerms terms(const Outlook& node) {
    see(node);
    if (config_.preset == Preset::expression) return by_formula(node);
    return {0, 0, evaluate(config_, outcome_).value + grade(node)};
  }

 private:
  void see(const Outlook& node) {
    outcome_.before = counts_;
    outcome_.before.by_pods.chosen = static_cast<double>(node.now.pods);
    outcome_.before.by_cpu.chosen = node.now.cpu_ratio;
    outcome_.before.by_memory.chosen = node.now.memory_ratio;
    outcome_.before.by_disk.chosen = node.now.disk_ratio;
    outcome_.before.by_tcp.chosen = static_cast<double>(node.now.tcp_established);
    outcome_.deviations_pct = 100 * (cpu_.deviation(node.now.cpu_ratio, node.cpu_after) +
                                     memory_.deviation(node.now.memory_ratio, node.memory_after));
    outcome_.latency_ms = node.latency_ms;
    outcome_.marginal_w = -node.saved_w;  // b is 0: the mean of the compared nodes
    outcome_.mean_power_w = node.node_w;
    outcome_.cpu_some_ratio = node.cpu_some_ratio;
  }

  PredictedTerms by_formula(const Outlook& node) {
    const double all = evaluate(config_, outcome_).value;
    outcome_.marginal_w.reset();
    const double without_energy = evaluate(config_, outcome_).value;
    const double latency =
        config_.formula({0, latency_term(node.latency_ms, outcome_.latency_soft_ms, outcome_.latency_hard_ms)});
    return {all - without_energy, latency, without_energy - latency};
  }

  // 0..1; for el-rl, whose formula ignores the chosen node, by latency in steps of a half.
  double grade(const Outlook& node) const {
    const LoadRange& load = load_of(config_, outcome_.before);
    switch (config_.preset) {
      case Preset::ee: {
        const double dear = share_of(node.added_w - least_w_, most_w_ - least_w_);
        return (1 - kWattsOfGrade) * share_of(load.chosen, load.most) + kWattsOfGrade * (1 - dear);
      }
      case Preset::lb:
      case Preset::lc:
        return share_of(load.most - load.chosen, load.most - load.least);
      case Preset::el_rl: {
        const auto workers = static_cast<double>(counts_.workers);
        const double on = static_cast<double>(counts_.on) + (node.now.pods == 0 ? 1 : 0);
        const double density = static_cast<double>(counts_.pods + 1) / on / kPodsPerNode;
        return kOfNext * ((workers + 1 - on) / (workers + 1) + std::min(density, 1.0));
      }
      case Preset::drs:
      case Preset::power:
      case Preset::weighted:
      case Preset::expression:
        break;
    }
    return 0;
  }

  const RewardConfig& config_;
  ClusterBefore counts_;
  Spread cpu_, memory_;
  double least_w_ = INFINITY, most_w_ = -INFINITY;
  RawOutcome outcome_;
};

PredictedTerms weighted(const RewardConfig& config, const PodOutlook& pod, double saved_w,
                        std::optional<double> latency_ms) {
  return {config.weights.energy * energy_term(config, saved_w, pod.life_s.value_or(config.horizon_s)),
          config.weights.latency * latency_term(latency_ms, pod.latency_soft_ms, pod.latency_hard_ms)};
}

double marginal_w(const NodeView& node, double demand_cores) {
  const double cores = node.values.cpu_cores.value_or(node.allocatable.cpu_cores);
  const double per_core = cores > 0 && std::isfinite(cores) ? 1 / cores : 1.0 / 16;
  const double from = std::max(0.0, expected_cpu_cores(node) * per_core);
  return node.curve.marginal_w(from, std::max(0.0, demand_cores) * per_core);
}

double wake_w(const RewardConfig& config, const NodeView& node) {
  if (!node.asleep || node.in_flight > 0 || node.unsettled > 0) return 0;
  return node.curve.idle_w() + node.wake_cost_j / std::max(config.horizon_s, 1.0);
}

Outlook outlook(const NodeView& node, const PodSpec& pod, double demand_cores, const Prediction& prediction) {
  Outlook seen;
  seen.now = worker_before(node);
  seen.now.pods += node.in_flight;
  const double cores = or_zero(node.values.cpu_cores.value_or(node.allocatable.cpu_cores));
  seen.now.cpu_ratio = or_zero(seen.now.cpu_ratio) +
                       share_of(node.unsettled_cpu_cores + kDemandOfRequest * node.in_flight_request.cpu_cores, cores);
  seen.cpu_after = seen.now.cpu_ratio + share_of(demand_cores, cores);
  seen.memory_after = seen.now.memory_ratio + share_of(pod.request.memory_bytes, node.allocatable.memory_bytes);
  seen.added_w = or_zero(prediction.marginal_with_wake_w);
  seen.node_w = or_zero(node.curve.watts(std::clamp(seen.now.cpu_ratio, 0.0, 1.0)) + prediction.marginal_w);
  seen.latency_ms = prediction.latency_ms;
  seen.cpu_some_ratio = stalled_ratio(node);
  return seen;
}

PodOutlook outlook(const PodSpec& pod) { return {pod.life_s, pod.latency_soft_ms, pod.latency_hard_ms}; }

}  // namespace

std::vector<PredictedTerms> predicted_terms(const RewardConfig& config, const PodOutlook& pod,
                                            std::span<const Outlook> nodes) {
  std::vector<PredictedTerms> all(nodes.size());
  if (!config.with_prior) return all;
  Compared compared(config, pod, nodes);
  for (std::size_t i = 0; i < nodes.size(); ++i)
    all[i] = config.preset == Preset::weighted ? weighted(config, pod, nodes[i].saved_w, nodes[i].latency_ms)
                                               : compared.terms(nodes[i]);
  return all;
}

double slots_for(const NodeView& node, const PodSpec& pod) {
  double slots = static_cast<double>(node.pod_capacity);
  if (pod.request.cpu_cores > 0 && node.allocatable.cpu_cores > 0)
    slots = std::min(slots, node.allocatable.cpu_cores / pod.request.cpu_cores);
  if (pod.request.memory_bytes > 0 && node.allocatable.memory_bytes > 0)
    slots = std::min(slots, node.allocatable.memory_bytes / pod.request.memory_bytes);
  return std::max(1.0, std::floor(slots));
}

double amortised_w(const NodeView& node, const PodSpec& pod, double demand_cores) {
  return node.curve.idle_w() / slots_for(node, pod) + marginal_w(node, demand_cores);
}

std::vector<Prediction> predict(const RewardConfig& config, const ClusterView& view, std::span<const std::size_t> rows,
                                const PodSpec& pod, double demand_cores) {
  std::vector<Prediction> predictions(rows.size());
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const NodeView& node = view.nodes[rows[row]];
    Prediction& prediction = predictions[row];
    prediction.marginal_w = marginal_w(node, demand_cores);
    prediction.marginal_with_wake_w = prediction.marginal_w + wake_w(config, node);
    prediction.slots = slots_for(node, pod);
    prediction.latency_ms = latency_for(node, pod);
    prediction.amortised_w = node.curve.idle_w() / prediction.slots + prediction.marginal_w;
  }
  judge(config, view, rows, pod, predictions);
  return predictions;
}

void judge(const RewardConfig& config, const ClusterView& view, std::span<const std::size_t> rows, const PodSpec& pod,
           std::span<Prediction> predictions) {
  double mean_w = 0;
  for (const Prediction& prediction : predictions) mean_w += prediction.amortised_w;
  mean_w /= std::max<double>(1, static_cast<double>(predictions.size()));
  if (config.preset == Preset::weighted) {  // depends on each node alone, so thousands of nodes are cheap
    for (Prediction& prediction : predictions)
      prediction.terms = config.with_prior
                             ? weighted(config, outlook(pod), mean_w - prediction.amortised_w, prediction.latency_ms)
                             : PredictedTerms{};
    return;
  }
  std::vector<Outlook> nodes;
  nodes.reserve(rows.size());
  for (std::size_t row = 0; row < rows.size(); ++row) {
    nodes.push_back(outlook(view.nodes[rows[row]], pod, demand_cores(pod), predictions[row]));
    nodes.back().saved_w = mean_w - predictions[row].amortised_w;
  }
  const std::vector<PredictedTerms> terms = predicted_terms(config, outlook(pod), nodes);
  for (std::size_t row = 0; row < rows.size(); ++row) predictions[row].terms = terms[row];
}

}  // namespace wattle::placement
