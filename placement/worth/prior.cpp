#include "placement/worth/prior.hpp"

#include <algorithm>
#include <cmath>

#include "placement/cluster/waiting.hpp"
#include "placement/worth/feature_scale.hpp"
#include "placement/worth/node_facts.hpp"
#include "placement/worth/outcome.hpp"

namespace wattle::placement {

namespace {

constexpr double kWattsOfGrade = 0.05;  // decides among nodes of nearly equal load with ee
constexpr double kOfNext = 0.5;         // weight of the next placement's expected reward relative to this one's

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

double slots_of(double capacity, const Resources& allocatable, const Resources& request) {
  double slots = capacity;
  if (request.cpu_cores > 0 && allocatable.cpu_cores > 0)
    slots = std::min(slots, allocatable.cpu_cores / request.cpu_cores);
  if (request.memory_bytes > 0 && allocatable.memory_bytes > 0)
    slots = std::min(slots, allocatable.memory_bytes / request.memory_bytes);
  return std::max(1.0, std::floor(slots));
}

double marginal_w(const NodeView& node, double demand_cores) {
  const double per_core = feature::utilisation_per_core(node);
  const double from = std::max(0.0, expected_cpu_cores(node) * per_core);
  return node.curve.marginal_w(from, std::max(0.0, demand_cores) * per_core);
}

double wake_w(const RewardConfig& config, const NodeFacts& facts) {
  if (!facts.wakes) return 0;
  return facts.idle_w() + facts.wake_cost_j / std::max(config.horizon_s, 1.0);
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
  return slots_of(static_cast<double>(node.pod_capacity), node.allocatable, pod.request);
}

double amortised_w(const NodeView& node, const PodSpec& pod, double demand_cores) {
  return node.curve.idle_w() / slots_for(node, pod) + marginal_w(node, demand_cores);
}

std::vector<Prediction> predict(const RewardConfig& config, const ClusterView& view, std::span<const std::size_t> rows,
                                const PodSpec& pod, double demand_cores) {
  FactsOfNodes known;
  known.look(view, rows, false);
  std::vector<Prediction> predictions = predict_watts(config, view, rows, known, pod, demand_cores);
  judge(config, view, rows, pod, predictions);
  return predictions;
}

std::vector<Prediction> predict_watts(const RewardConfig& config, const ClusterView& view,
                                      std::span<const std::size_t> rows, const FactsOfNodes& known, const PodSpec& pod,
                                      double demand_cores) {
  const bool other_target = !pod.latency_target.empty() && pod.latency_target != "default";
  std::vector<Prediction> predictions(rows.size());
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const NodeFacts& facts = known[rows[row]];
    Prediction& prediction = predictions[row];
    prediction.marginal_w = facts.marginal_w(demand_cores);
    prediction.marginal_with_wake_w = prediction.marginal_w + wake_w(config, facts);
    prediction.slots = slots_of(facts.pod_capacity, facts.allocatable, pod.request);
    if (other_target)
      prediction.latency_ms = latency_for(view.nodes[rows[row]], pod);
    else if (!std::isnan(facts.latency_ms))
      prediction.latency_ms = facts.latency_ms;
    prediction.amortised_w = facts.idle_w() / prediction.slots + prediction.marginal_w;
  }
  return predictions;
}

void judge(const RewardConfig& config, const ClusterView& view, std::span<const std::size_t> rows, const PodSpec& pod,
           std::span<Prediction> predictions) {
  double mean_w = 0;
  for (const Prediction& prediction : predictions) mean_w += prediction.amortised_w;
  mean_w /= std::max<double>(1, static_cast<double>(predictions.size()));
  if (config.preset == Preset::weighted) {  // depends only on each node itself, so thousands of nodes are cheap
    const PodOutlook asked = outlook(pod);
    for (Prediction& prediction : predictions)
      prediction.terms = config.with_prior
                             ? weighted(config, asked, mean_w - prediction.amortised_w, prediction.latency_ms)
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
