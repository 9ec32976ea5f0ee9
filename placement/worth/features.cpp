// features: a pass over the nodes for sums, one for values, two sorts for ranks. All outputs are finite for any
// telemetry.
#include "placement/worth/features.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

#include "placement/worth/feature_scale.hpp"
#include "placement/worth/node_facts.hpp"
#include "placement/worth/ranks.hpp"

namespace wattle::placement {
namespace {

using namespace feature;

constexpr double kReferenceLatencyMs = 100;
constexpr double kAgeReferenceS = 10;

// Columns of the pod that are accessed individually.
constexpr std::size_t kPodRequest = 0, kPodDemand = 2, kPodMemoryOfNode = 4, kPodSoft = 5, kPodHard = 7,
                      kPodPlanKnown = 10, kPodW0 = 12, kPodPlan = 13, kPodLife = 14, kPodDemandError = 16;
constexpr std::size_t kForecastError = 8;  // in the context

struct Means {
  double amortised_w = 0, cores = 0, memory_bytes = 0, requested_cores = 0, allocatable_cores = 0;
  double tcp = 0, same_app = 0;
};

Means sum_up(const ClusterView& view, std::span<const std::size_t> rows, const FactsOfNodes& known,
             std::span<const Prediction> predictions) {
  Means fleet;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const NodeFacts& facts = known[rows[row]];
    fleet.amortised_w += predictions[row].amortised_w;
    fleet.cores += facts.cores;
    fleet.memory_bytes += facts.memory_bytes;
    fleet.requested_cores += facts.requested_cores;
    fleet.allocatable_cores += facts.capacity_cores;
    fleet.tcp += facts.tcp_established;
    fleet.same_app += static_cast<double>(view.nodes[rows[row]].same_app_pods);
  }
  const double count = std::max<double>(1, static_cast<double>(rows.size()));
  fleet.amortised_w = std::isfinite(fleet.amortised_w) ? std::max(fleet.amortised_w / count, 1e-3) : 1.0;
  fleet.cores /= count;
  fleet.memory_bytes /= count;
  return fleet;
}

// Writes the columns that depend on the pod or on other nodes.
void write_pair(float* out, const NodeView& node, const NodeFacts& facts, const PodSpec& pod,
                const Prediction& prediction, const Means& fleet) {
  const double w0 = fleet.amortised_w;
  const double slots = prediction.slots;
  const std::optional<double> latency_ms = prediction.latency_ms;
  out[kSameApp] = ratio(part(static_cast<double>(node.same_app_pods), fleet.same_app));
  out[kIdlePerSlot] = relative(facts.idle_w() / slots / w0);
  out[kMarginal] = relative(prediction.marginal_w / w0);
  out[kMarginalWithWake] = ratio(std::log1p(std::max(0.0, prediction.marginal_with_wake_w) / w0) / 4);
  out[kAmortised] = relative(prediction.amortised_w / w0);
  out[kHalfPerSlot] = relative(facts.half_w / slots / w0);
  out[kFullPerSlot] = relative(facts.watts.back() / slots / w0);
  out[kLatencySoft] = relative(latency_ms ? part(*latency_ms, pod.latency_soft_ms.value_or(kReferenceLatencyMs)) : 0);
  out[kLatencyHard] = relative(latency_ms && pod.latency_hard_ms ? part(*latency_ms, *pod.latency_hard_ms) : 0);
  out[kLatencyKnown] = flag(latency_ms.has_value());
  out[kAge] = ratio(node.telemetry_age ? seconds(*node.telemetry_age) / kAgeReferenceS : kMaxRatio);
  out[kTcpShare] = ratio(part(facts.tcp_established, fleet.tcp));
}

void write_weights(models::Observation& observation, const RewardConfig& reward) {
  const bool by_weights = reward.preset == Preset::weighted;
  const RewardWeights weights = by_weights ? reward.weights : RewardWeights{0, 0, 0, 0, 0, 0, 0};
  const std::array<double, 5> values = {weights.energy, weights.latency, weights.balance,
                                        weights.packing + weights.active_nodes, weights.contention};
  for (std::size_t i = 0; i < values.size(); ++i) observation.context[i] = relative(values[i] / 4);
}

// Returns the prior: the models' prediction for this node, with the plan's preference as energy term if there is a
// plan.
double prior_of(const RewardConfig& reward, double predicted, double latency, std::optional<double> preference_w0) {
  if (!preference_w0 || reward.preset != Preset::weighted || !reward.with_prior) return predicted;
  return reward.weights.energy * *preference_w0 + latency;
}

double outlives(const PlanView& plan, const PlanView::Node& node) {
  if (!std::isfinite(plan.life_s) || !std::isfinite(node.empties_s)) return 0;
  return std::log2((std::max(plan.life_s, 0.0) + 60) / (std::max(node.empties_s, 0.0) + 60)) / 4;
}

void write_plan(models::Observation& observation, std::span<const std::size_t> rows, std::span<const double> slots,
                const PlanView& plan, std::span<const double> cores, double w0) {
  double left = 0;
  for (const PlanView::Node& node : plan.nodes) left += node.left;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const PlanView::Node& node = plan.nodes[row];
    float* out = &observation.node[row * models::kNodeFeatures];
    out[kPlanPreference] = relative(node.preference);
    out[kPlanLeft] = ratio(part(node.left, left));
    out[kPlanExpected] = ratio(node.expected / slots[row]);
    out[kOutlives] = relative(outlives(plan, node));
    out[kCurveError] = ratio(node.curve_error_w / slots[row] / w0);
    out[kUseUnsure] = ratio(part(node.uncertain_cores, cores[row]));
    out[kWaitAdded] = ratio(node.wait_w / w0);
    out[kWaitError] = ratio(node.wait_error);
  }
  observation.pod[kPodPlanKnown] = 1;
  observation.pod[kPodPlan + 2] = logarithm(plan.expected_pods, 16);
  observation.pod[kPodDemandError] = ratio(part(plan.demand_error_cores, plan.demand_cores));
  observation.context[kForecastError] = ratio(plan.forecast_error_ratio);
}

void write_prediction(models::Observation& observation, const PlanView& plan) {
  observation.pod[kPodPlan] = ratio(plan.demand_quantile);
  observation.pod[kPodLife] = std::isfinite(plan.life_s) ? logarithm(plan.life_s / 60, 16) : 0.0F;
}

constexpr double kUsualCapacity = 110;  // pods per node, where only their share is known
constexpr double kTcpParts = 1e6;       // connections, where only their share is known

double whole_of(float logarithm, double divisor) { return std::exp2(static_cast<double>(logarithm) * divisor) - 1; }

// Reconstructs a node from features, without latency: watts from three points of its curve, slots from its cores.
Outlook outlook_of(std::span<const float> node, std::span<const float> pod, double w0) {
  const auto at = [&](std::size_t column) { return static_cast<double>(node[column]); };
  Outlook seen;
  seen.now.pods = static_cast<std::uint64_t>(std::lround(kUsualCapacity * std::max(0.0, at(kPods))));
  seen.now.cpu_ratio = at(kCpuUsed) + at(kCpuComing);
  seen.now.memory_ratio = at(kMemoryUsed);
  seen.now.disk_ratio = at(kIoUsed);
  seen.now.tcp_established = static_cast<std::uint64_t>(std::lround(kTcpParts * std::max(0.0, at(kTcpShare))));
  const double cores = whole_of(node[kCores], 8) + 1, request = whole_of(pod[kPodRequest], 8) / 10;
  seen.cpu_after = seen.now.cpu_ratio + whole_of(pod[kPodDemand], 8) / 10 / cores;
  seen.saved_w = w0 * (1 - at(kAmortised));
  seen.added_w = w0 * std::expm1(4 * at(kMarginalWithWake));
  const double of_memory = static_cast<double>(pod[kPodMemoryOfNode]);
  seen.memory_after = seen.now.memory_ratio + of_memory;
  const double by_cpu = request > 0 ? cores / request : kUsualCapacity;
  const double by_memory = of_memory > 0 ? 1 / of_memory : kUsualCapacity;
  // Tolerance for float features.
  const double slots = std::clamp(std::floor(std::min(by_cpu, by_memory) + 1e-3), 1.0, kUsualCapacity);
  const double used = std::clamp(seen.now.cpu_ratio, 0.0, 1.0);
  const double per_slot = used < 0.5 ? at(kIdlePerSlot) + 2 * used * (at(kHalfPerSlot) - at(kIdlePerSlot))
                                     : at(kHalfPerSlot) + (2 * used - 1) * (at(kFullPerSlot) - at(kHalfPerSlot));
  seen.node_w = w0 * (slots * per_slot + at(kMarginal));
  seen.cpu_some_ratio = at(kPsiCpu);
  return seen;
}

}  // namespace

std::string_view mask_reason(const NodeView& node, const PodSpec& pod, const MaskOptions& options) {
  const NodeTaken taken{{node.requested.cpu_cores + node.in_flight_request.cpu_cores,
                         node.requested.memory_bytes + node.in_flight_request.memory_bytes},
                        node.pods + node.in_flight,
                        node.starts};
  return mask_reason(node, taken, pod, options);
}

std::string_view mask_reason(const NodeView& node, const NodeTaken& taken, const PodSpec& pod,
                             const MaskOptions& options) {
  if (!node.ready) return "not ready";
  if (!node.telemetry_age) return "no telemetry yet";
  if (!(seconds(*node.telemetry_age) <= options.stale_after_s)) return "stale telemetry";
  const auto fits = [](double allocatable, double requested, double request) {
    return !(allocatable > 0) || requested + request <= allocatable * (1 + 1e-9);
  };
  if (!fits(node.allocatable.cpu_cores, taken.requested.cpu_cores, pod.request.cpu_cores)) return "cpu does not fit";
  if (!fits(node.allocatable.memory_bytes, taken.requested.memory_bytes, pod.request.memory_bytes))
    return "memory does not fit";
  if (node.pod_capacity > 0 && taken.pods + 1 > node.pod_capacity) return "pods do not fit";
  if (pod.latency_hard_ms) {
    const std::optional<double> latency_ms = latency_for(node, pod);
    if (!latency_ms) return "latency unknown under a hard limit";
    if (*latency_ms > *pod.latency_hard_ms) return "hard latency limit exceeded";
  }
  if (taken.starts >= options.start_cap.of(node.allocatable.cpu_cores)) return "start cap reached";
  return {};
}

models::Observation observe(const ClusterView& view, const PodSpec& pod, std::span<const std::string_view> masked,
                            const RewardConfig& reward, const PlanView* plan) {
  std::vector<std::size_t> rows(view.nodes.size());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  const double demand = plan ? plan->demand_cores : demand_cores(pod);
  return observe(view, rows, pod, masked, predict(reward, view, rows, pod, demand), reward, plan);
}

models::Observation observe(const ClusterView& view, std::span<const std::size_t> rows, const PodSpec& pod,
                            std::span<const std::string_view> masked, std::span<const Prediction> predictions,
                            const RewardConfig& reward, const PlanView* plan) {
  FactsOfNodes known;
  known.look(view, rows, false);
  return observe(view, rows, known, pod, masked, predictions, reward, plan);
}

models::Observation observe(const ClusterView& view, std::span<const std::size_t> rows, const FactsOfNodes& known,
                            const PodSpec& pod, std::span<const std::string_view> masked,
                            std::span<const Prediction> predictions, const RewardConfig& reward, const PlanView* plan) {
  const bool planned = plan && !plan->nodes.empty();
  assert(!planned || plan->nodes.size() == rows.size());
  const std::size_t count = rows.size();
  const double demand = plan ? plan->demand_cores : demand_cores(pod);
  const Means fleet = sum_up(view, rows, known, predictions);
  models::Observation observation;
  observation.nodes = count;
  observation.node.reserve(count * models::kNodeFeatures);
  observation.prior.reserve(count);
  observation.valid.reserve(count);
  std::vector<double> amortised(count), slope(count), slots(count), sizes(count);
  for (std::size_t row = 0; row < count; ++row) {
    const NodeFacts& facts = known[rows[row]];
    observation.node.insert(observation.node.end(), facts.features.begin(), facts.features.end());
    float* out = &observation.node[row * models::kNodeFeatures];
    write_pair(out, view.nodes[rows[row]], facts, pod, predictions[row], fleet);
    amortised[row] = within(predictions[row].amortised_w, 1e9);
    slope[row] = within(facts.curve_slope_w * (facts.cores > 0 ? demand / facts.cores : 0), 1e9);
    slots[row] = predictions[row].slots;
    sizes[row] = facts.cores;
    out[kSlope] = relative(slope[row] / fleet.amortised_w);
    const auto preference = planned ? std::optional(plan->nodes[row].preference) : std::nullopt;
    const double prior =
        prior_of(reward, predictions[row].priced_value(), predictions[row].priced_latency(), preference);
    observation.prior.push_back(static_cast<float>(within(prior, 1e6)));
    observation.valid.push_back(row >= masked.size() || masked[row].empty() ? 1 : 0);
  }
  const std::vector<float> amortised_ranks = mean_ranks(amortised), slope_ranks = mean_ranks(slope);
  for (std::size_t row = 0; row < count; ++row) {
    observation.node[row * models::kNodeFeatures + kAmortisedRank] = amortised_ranks[row];
    observation.node[row * models::kNodeFeatures + kSlopeRank] = slope_ranks[row];
  }

  observation.pod = {logarithm(10 * pod.request.cpu_cores, 8),
                     logarithm(pod.request.memory_bytes / (16.0 * 1024 * 1024), 16),
                     logarithm(10 * demand, 8),
                     ratio(part(demand, fleet.cores)),
                     ratio(part(pod.request.memory_bytes, fleet.memory_bytes)),
                     relative(pod.latency_soft_ms.value_or(0) / kReferenceLatencyMs),
                     flag(pod.latency_soft_ms.has_value()),
                     relative(pod.latency_hard_ms.value_or(0) / kReferenceLatencyMs),
                     flag(pod.latency_hard_ms.has_value()),
                     flag(pod.daemonset),
                     0,  // plan_known
                     logarithm(fleet.same_app, 8),
                     logarithm(fleet.amortised_w, 8)};
  if (pod.life_s && std::isfinite(*pod.life_s)) observation.pod[kPodLife] = logarithm(*pod.life_s / 60, 16);
  if (planned) write_plan(observation, rows, slots, *plan, sizes, fleet.amortised_w);
  if (plan) write_prediction(observation, *plan);
  write_weights(observation, reward);
  observation.context[5] = logarithm(static_cast<double>(count) - 1, 12);
  observation.context[6] = logarithm(static_cast<double>(view.pending_pods), 12);
  observation.context[7] = ratio(part(fleet.requested_cores, fleet.allocatable_cores));
  return observation;
}

void relabel(models::Observation& observation, const RewardConfig& reward) {
  write_weights(observation, reward);
  const auto given = [&](std::size_t value, std::size_t known) {
    const double limit_ms = static_cast<double>(observation.pod[value]) * kReferenceLatencyMs;
    return observation.pod[known] > 0 ? std::optional<double>(limit_ms) : std::nullopt;
  };
  const std::optional<double> soft_ms = given(kPodSoft, kPodSoft + 1);
  const std::optional<double> hard_ms = given(kPodHard, kPodHard + 1);
  const bool planned = observation.pod[kPodPlanKnown] > 0;
  const double w0 = std::exp2(static_cast<double>(observation.pod[kPodW0]) * 8) - 1;
  const double life = static_cast<double>(observation.pod[kPodLife]);
  const auto life_s = life > 0 ? std::optional(60 * (std::exp2(16 * life) - 1)) : std::nullopt;
  std::vector<Outlook> nodes;
  nodes.reserve(observation.nodes);
  for (std::size_t row = 0; row < observation.nodes; ++row) {
    const auto seen = std::span(observation.node).subspan(row * models::kNodeFeatures, models::kNodeFeatures);
    nodes.push_back(outlook_of(seen, observation.pod, w0));
    if (seen[kLatencyKnown] > 0)
      nodes.back().latency_ms = static_cast<double>(seen[kLatencySoft]) * soft_ms.value_or(kReferenceLatencyMs);
  }
  const std::vector<PredictedTerms> terms = predicted_terms(reward, {life_s, soft_ms, hard_ms}, nodes);
  for (std::size_t row = 0; row < observation.nodes; ++row) {
    const float* node = &observation.node[row * models::kNodeFeatures];
    const auto preference = planned ? std::optional(static_cast<double>(node[kPlanPreference])) : std::nullopt;
    const double prior = prior_of(reward, terms[row].value(), terms[row].latency, preference);
    observation.prior[row] = static_cast<float>(within(prior, 1e6));
  }
}

}  // namespace wattle::placement
