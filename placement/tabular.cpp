#include "placement/tabular.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "models/frozen/frozen_network.hpp"
#include "placement/features.hpp"

namespace wattle::placement {

namespace {

constexpr float kLeastRate = 0.05F;
constexpr char kTable[] = "table", kOnlineTable[] = "online.table", kVisits[] = "visits", kSteps[] = "steps";

template <class Specs>
std::size_t column(const Specs& specs, std::string_view name) {
  const auto found =
      std::find_if(specs.begin(), specs.end(), [&](const FeatureSpec& spec) { return spec.name == name; });
  assert(found != specs.end());
  return static_cast<std::size_t>(found - specs.begin());
}

// Where the features that it looks at are.
struct Columns {
  std::size_t cpu_requested = column(kNodeFeatureSpecs, "cpu_requested"),
              cpu_used = column(kNodeFeatureSpecs, "cpu_used"),
              memory_requested = column(kNodeFeatureSpecs, "memory_requested"),
              active = column(kNodeFeatureSpecs, "active"), asleep = column(kNodeFeatureSpecs, "asleep"),
              latency_soft = column(kNodeFeatureSpecs, "latency_soft"),
              latency_known = column(kNodeFeatureSpecs, "latency_known"),
              demand_of_node = column(kPodFeatureSpecs, "demand_of_node");
};
const Columns& columns() {
  static const Columns found;
  return found;
}

std::size_t bin(float value, std::size_t bins) {
  const float scaled = value * static_cast<float>(bins);
  return scaled > 0 ? std::min(static_cast<std::size_t>(scaled), bins - 1) : 0;
}

Result<std::vector<float>> tensor_of(const models::Weights& weights, const std::string& name, std::size_t size,
                                     const std::string& subject) {
  const auto found = weights.find(name);
  if (found == weights.end() || found->second.values.size() != size)
    return fail(Errc::malformed, subject, "tensor " + name + " is not there with " + std::to_string(size) + " values");
  for (const float value : found->second.values)
    if (!std::isfinite(value)) return fail(Errc::malformed, subject, "tensor " + name + " has what is no number");
  return found->second.values;
}

models::Tensor tensor(const std::vector<float>& values) { return {{static_cast<std::int64_t>(values.size())}, values}; }

class TabularTrainer final : public models::QTrainer {
 public:
  Result<models::StepStats> step(std::span<const models::Transition* const> batch) override {
    models::StepStats stats;
    for (const models::Transition* each : batch) {
      const std::size_t cell = table_cell(each->state, each->action);
      const float target = each->reward + each->discount * best(*each);
      const float error = target - table_[cell];
      if (!std::isfinite(error)) return fail(Errc::out_of_range, "tabular Q", "a transition's reward is no number");
      visits_[cell] = std::min(visits_[cell] + 1, 1e6F);
      table_[cell] += std::max(1 / visits_[cell], kLeastRate) * error;
      const double told = static_cast<double>(error), in_units = static_cast<double>(error / each->unit);
      stats.loss += in_units * in_units / 2;
      stats.mean_error += told;
      stats.error2 += told * told;
      stats.mean_q += static_cast<double>(table_[cell]);
      stats.max_abs_q = std::max(stats.max_abs_q, std::abs(static_cast<double>(table_[cell])));
    }
    const auto count = std::max<double>(1, static_cast<double>(batch.size()));
    stats.loss /= count;
    stats.mean_error /= count;
    stats.error2 /= count;
    stats.mean_q /= count;
    stats.step = ++steps_;
    return stats;
  }
  std::uint64_t steps() const override { return steps_; }
  models::Weights weights() const override { return {{kTable, tensor(table_)}}; }
  models::Weights checkpoint() const override {
    // Two floats can represent any number of steps of a process.
    const std::vector<float> steps{static_cast<float>(steps_ >> 20U), static_cast<float>(steps_ & 0xfffffU)};
    return {{kOnlineTable, tensor(table_)}, {kVisits, tensor(visits_)}, {kSteps, tensor(steps)}};
  }
  Status restore(const models::Weights& checkpoint) override {
    const std::string subject = "checkpoint of a table";
    WATTLE_TRY(std::vector<float> table, tensor_of(checkpoint, kOnlineTable, kTableCells, subject));
    WATTLE_TRY(std::vector<float> visits, tensor_of(checkpoint, kVisits, kTableCells, subject));
    WATTLE_TRY(const std::vector<float> steps, tensor_of(checkpoint, kSteps, 2, subject));
    if (!(steps[0] >= 0 && steps[0] < 1e9F && steps[1] >= 0 && steps[1] < 1e9F) ||
        std::any_of(visits.begin(), visits.end(), [](float value) { return value < 0; }))
      return fail(Errc::malformed, subject, "counts less than nothing");
    table_ = std::move(table);
    visits_ = std::move(visits);
    steps_ = (static_cast<std::uint64_t>(steps[0]) << 20U) + static_cast<std::uint64_t>(steps[1]);
    return {};
  }

 private:
  float best(const models::Transition& transition) const {
    if (transition.discount == 0) return 0;
    float highest = 0;
    bool any = false;
    for (std::size_t row = 0; row < transition.next.nodes; ++row) {
      if (transition.next.valid[row] == 0) continue;
      const float value = table_[table_cell(transition.next, row)];
      highest = any ? std::max(highest, value) : value;
      any = true;
    }
    return highest;
  }

  std::vector<float> table_ = std::vector<float>(kTableCells, 0.0F);
  std::vector<float> visits_ = std::vector<float>(kTableCells, 0.0F);
  std::uint64_t steps_ = 0;
};

}  // namespace

std::size_t table_cell(const models::Observation& observation, std::size_t row) {
  const Columns& at = columns();
  const float* node = &observation.node[row * models::kNodeFeatures];
  const std::size_t activity = node[at.asleep] > 0 ? 0 : node[at.active] > 0 ? 2 : 1;
  const std::size_t latency = !(node[at.latency_known] > 0) ? 0 : node[at.latency_soft] <= 1 ? 1 : 2;
  const float demand = observation.pod[at.demand_of_node];
  const std::size_t size = demand < 0.02F ? 0 : demand < 0.1F ? 1 : 2;
  std::size_t cell = bin(node[at.cpu_requested], 5);
  cell = cell * 5 + bin(node[at.cpu_used], 5);
  cell = cell * 3 + bin(node[at.memory_requested], 3);
  cell = cell * 3 + activity;
  cell = cell * 3 + latency;
  return cell * 3 + size;
}

void TabularNetwork::residual(const models::Observation& observation, std::span<float> out) const {
  for (std::size_t row = 0; row < observation.nodes; ++row)
    out[row] = observation.valid[row] != 0 ? table_[table_cell(observation, row)] - observation.prior[row] : 0.0F;
}

std::unique_ptr<models::QTrainer> make_tabular_trainer() { return std::make_unique<TabularTrainer>(); }

Result<std::shared_ptr<const models::QNetwork>> network_of(const models::Weights& weights, std::uint64_t step,
                                                           const std::string& subject, bool on_prior) {
  if (weights.contains(kTable)) {
    WATTLE_TRY(std::vector<float> table, tensor_of(weights, kTable, kTableCells, subject));
    return std::make_shared<const TabularNetwork>(std::move(table), step);
  }
  WATTLE_TRY(auto network, models::FrozenNetwork::from_weights(weights, step, subject, on_prior));
  return std::shared_ptr<const models::QNetwork>(std::move(network));
}

}  // namespace wattle::placement
