#include "placement/learn/tabular.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

#include "models/frozen/frozen_network.hpp"
#include "placement/worth/features.hpp"

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

// Columns of the features that the table uses.
struct Columns {
  std::array<std::size_t, kTableLoads> loads{
      column(kNodeFeatureSpecs, "pods"),          column(kNodeFeatureSpecs, "cpu_used"),
      column(kNodeFeatureSpecs, "memory_used"),   column(kNodeFeatureSpecs, "tcp_share"),
      column(kNodeFeatureSpecs, "cpu_requested"), column(kNodeFeatureSpecs, "amortised")};
  std::size_t active = column(kNodeFeatureSpecs, "active"), asleep = column(kNodeFeatureSpecs, "asleep"),
              latency_soft = column(kNodeFeatureSpecs, "latency_soft"),
              latency_known = column(kNodeFeatureSpecs, "latency_known"),
              demand_of_node = column(kPodFeatureSpecs, "demand_of_node");
};
const Columns& columns() {
  static const Columns found;
  return found;
}

// Range of one load over the valid rows.
struct Range {
  float least = INFINITY, most = -INFINITY;
  void add(float value) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
  // Returns 0 for the least, 1 for an intermediate and 2 for the largest value. If all are equal, all are the least.
  std::size_t level(float value) const {
    constexpr float kSame = 1e-5F;
    if (!(value > least + kSame)) return 0;
    return value < most - kSame ? 1 : 2;
  }
};

Result<std::vector<float>> tensor_of(const models::Weights& weights, const std::string& name, std::size_t size,
                                     const std::string& subject) {
  const auto found = weights.find(name);
  if (found == weights.end() || found->second.values.size() != size)
    return fail(Errc::malformed, subject,
                "tensor " + name + " is missing or does not have " + std::to_string(size) + " values");
  for (const float value : found->second.values)
    if (!std::isfinite(value))
      return fail(Errc::malformed, subject, "tensor " + name + " contains a value that is not a number");
  return found->second.values;
}

models::Tensor tensor(const std::vector<float>& values) { return {{static_cast<std::int64_t>(values.size())}, values}; }

class TabularTrainer final : public models::QTrainer {
 public:
  Result<models::StepStats> step(std::span<const models::Transition* const> batch) override {
    models::StepStats stats;
    for (const models::Transition* each : batch) {
      const std::size_t cell = table_cells(each->state)[each->action];
      const float target = each->reward + each->discount * best(*each);
      const float error = target - value(cell);
      if (!std::isfinite(error))
        return fail(Errc::out_of_range, "tabular Q", "the reward of a transition is not a number");
      learn(cell, error);
      const double reported = static_cast<double>(error), in_units = static_cast<double>(error / each->unit);
      stats.loss += in_units * in_units / 2;
      stats.mean_error += reported;
      stats.error2 += reported * reported;
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
  models::Weights weights() const override { return {{kTable, tensor(values())}}; }
  models::Weights checkpoint() const override {
    // Two floats can represent any number of steps of a process.
    const std::vector<float> steps{static_cast<float>(steps_ >> 20U), static_cast<float>(steps_ & 0xfffffU)};
    return {{kOnlineTable, tensor(values())}, {kVisits, tensor(visits_)}, {kSteps, tensor(steps)}};
  }
  Status restore(const models::Weights& checkpoint) override {
    const std::string subject = "checkpoint of a table";
    WATTLE_TRY(std::vector<float> table, tensor_of(checkpoint, kOnlineTable, kTableCells, subject));
    WATTLE_TRY(std::vector<float> visits, tensor_of(checkpoint, kVisits, kTableCells, subject));
    WATTLE_TRY(const std::vector<float> steps, tensor_of(checkpoint, kSteps, 2, subject));
    if (!(steps[0] >= 0 && steps[0] < 1e9F && steps[1] >= 0 && steps[1] < 1e9F) ||
        std::any_of(visits.begin(), visits.end(), [](float value) { return value < 0; }))
      return fail(Errc::malformed, subject, "contains a negative count");
    table_ = std::move(table);
    visits_ = std::move(visits);
    steps_ = (static_cast<std::uint64_t>(steps[0]) << 20U) + static_cast<std::uint64_t>(steps[1]);
    count_visited();
    return {};
  }

 private:
  float best(const models::Transition& transition) const {
    if (transition.discount == 0) return 0;
    const std::vector<std::size_t> cells = table_cells(transition.next);
    float highest = 0;
    bool any = false;
    for (std::size_t row = 0; row < transition.next.nodes; ++row) {
      if (transition.next.valid[row] == 0) continue;
      const float q = value(cells[row]);
      highest = any ? std::max(highest, q) : q;
      any = true;
    }
    return highest;
  }

  // A cell that has seen no transition gets the mean, so that it is neither preferred nor avoided.
  float value(std::size_t cell) const {
    if (visits_[cell] > 0 || visited_ == 0) return table_[cell];
    return static_cast<float>(sum_ / static_cast<double>(visited_));
  }
  std::vector<float> values() const {
    std::vector<float> all(kTableCells);
    for (std::size_t cell = 0; cell < kTableCells; ++cell) all[cell] = value(cell);
    return all;
  }
  void learn(std::size_t cell, float error) {
    const float before = value(cell);
    visited_ += visits_[cell] > 0 ? 0 : 1;
    sum_ -= visits_[cell] > 0 ? static_cast<double>(before) : 0;
    visits_[cell] = std::min(visits_[cell] + 1, 1e6F);
    table_[cell] = before + std::max(1 / visits_[cell], kLeastRate) * error;
    sum_ += static_cast<double>(table_[cell]);
  }
  void count_visited() {
    visited_ = 0;
    sum_ = 0;
    for (std::size_t cell = 0; cell < kTableCells; ++cell) {
      if (!(visits_[cell] > 0)) continue;
      ++visited_;
      sum_ += static_cast<double>(table_[cell]);
    }
  }

  std::vector<float> table_ = std::vector<float>(kTableCells, 0.0F);
  std::size_t visited_ = 0;  // number of visited cells, and the sum of their values
  double sum_ = 0;
  std::vector<float> visits_ = std::vector<float>(kTableCells, 0.0F);
  std::uint64_t steps_ = 0;
};

}  // namespace

std::vector<std::size_t> table_cells(const models::Observation& observation) {
  const Columns& at = columns();
  std::array<Range, kTableLoads> ranges;
  const auto node_of = [&](std::size_t row) { return &observation.node[row * models::kNodeFeatures]; };
  std::size_t valid = 0, at_work = 0;
  for (std::size_t row = 0; row < observation.nodes; ++row) {
    if (observation.valid[row] == 0) continue;
    ++valid;
    at_work += node_of(row)[at.active] > 0 ? 1 : 0;
    for (std::size_t k = 0; k < kTableLoads; ++k) ranges[k].add(node_of(row)[at.loads[k]]);
  }
  const std::size_t unused = at_work == valid ? 0 : at_work > 0 ? 1 : 2;
  const float demand = observation.pod[at.demand_of_node];
  const std::size_t size = demand < 0.02F ? 0 : demand < 0.1F ? 1 : 2;
  std::vector<std::size_t> cells(observation.nodes);
  for (std::size_t row = 0; row < observation.nodes; ++row) {
    const float* node = node_of(row);
    std::size_t cell = 0;
    for (std::size_t k = 0; k < kTableLoads; ++k) cell = cell * 3 + ranges[k].level(node[at.loads[k]]);
    const std::size_t activity = node[at.asleep] > 0 ? 0 : node[at.active] > 0 ? 2 : 1;
    const std::size_t latency = !(node[at.latency_known] > 0) ? 0 : node[at.latency_soft] <= 1 ? 1 : 2;
    cells[row] = (((cell * 3 + activity) * 3 + unused) * 3 + latency) * 3 + size;
  }
  return cells;
}

void TabularNetwork::residual(const models::Observation& observation, std::span<float> out) const {
  const std::vector<std::size_t> cells = table_cells(observation);
  for (std::size_t row = 0; row < observation.nodes; ++row)
    out[row] = observation.valid[row] != 0 ? table_[cells[row]] - observation.prior[row] : 0.0F;
}

std::string_view policy_of(const models::QNetwork& network) {
  return dynamic_cast<const TabularNetwork*>(&network) != nullptr ? "tabular-q" : "dqn";
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

void learn_with_table(LearnerOptions& options) {
  options.reward_centre = kTableCentre;
  options.n_step = 1;
  options.tau_s = -1;  // placements
}

}  // namespace wattle::placement
