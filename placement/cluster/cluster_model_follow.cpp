// cluster_model_follow: updates a cluster model from each view: usage, waiting, lateness and curves.
#include <algorithm>
#include <cmath>

#include "placement/cluster/cluster_model.hpp"
#include "placement/cluster/sane_view.hpp"

namespace wattle::placement {

namespace {
constexpr double kDoubtMemory_s = 1800;  // for reopened curves
constexpr double kUseMemory_s = 300;     // for a node's usage beside its pods
constexpr double kSpreadMemory_s = 1800;
constexpr double kMostSpread = 25;
}  // namespace

// Updates the usage beside the pods. If no pod of a node is reported, all of its usage counts as such.
void ClusterModel::follow(const ClusterView& view, double passed_s) {
  const double share = 1 - std::exp(-passed_s / kUseMemory_s);
  double requested_cores = 0, strayed = 0, foreseen = 0;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const NodeView& node = view.nodes[i];
    Known& known = *rows_[i].known;
    requested_cores += node.requested.cpu_cores;
    const auto used_cores = node.values.cpu_used_cores;
    if (!used_cores || !std::isfinite(*used_cores)) continue;
    const double other_cores = std::max(0.0, *used_cores - known.last_cores);
    const double apart = other_cores - known.other_cores;
    known.other_cores2 = known.sampled ? (1 - share) * (known.other_cores2 + share * apart * apart) : 0.0;
    known.other_cores += (known.sampled ? share : 1.0) * (other_cores - known.other_cores);
    known.sampled = true;
    const double from_expected = *used_cores - known.pods_cores - known.other_cores;
    strayed += from_expected * from_expected;
    foreseen += std::max(0.0, known.pods_cores2) + known.other_cores2;
  }
  const double faded = 1 - std::exp(-passed_s / kSpreadMemory_s);
  strayed_cores2_ += faded * (strayed - strayed_cores2_);
  foreseen_cores2_ += faded * (foreseen - foreseen_cores2_);
  forecast_.sample(requested_cores, seconds(view.now.time_since_epoch()));
  const double error_cores = forecast_.hour().score().error_cores;
  fleet_.forecast_error_ratio = requested_cores > 0 ? sane(error_cores / requested_cores, 1e6) : 0;
}

double ClusterModel::spread() const {
  if (!(foreseen_cores2_ > 0) || !std::isfinite(strayed_cores2_)) return 1;
  return std::clamp(strayed_cores2_ / foreseen_cores2_, 1.0, kMostSpread);
}

// Ignores a repeated reading.
void ClusterModel::follow_waiting(const ClusterView& view, double passed_s) {
  double waited = 0, pods = 0, watts = 0, cores = 0;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const NodeView& node = view.nodes[i];
    if (!usable(node, options_.stale_after_s)) continue;
    watts += node.curve.max_w();
    cores += size_of(node).cpu_cores;
    const auto wait = waiting_ratio(node);
    const auto load = cpu_utilisation(node);
    if (!wait || !load || node.asleep) continue;
    waited += *wait * static_cast<double>(node.pods);
    pods += static_cast<double>(node.pods);
    Known& known = *rows_[i].known;
    if (*wait == known.reported_wait && *load == known.reported_load) continue;
    known.reported_wait = *wait;
    known.reported_load = *load;
    fleet_waiting_.observe(*load, *wait);
    known.waiting.observe(*load, *wait, fleet_waiting_.curve());
  }
  cpu_wait_.measure(waited, pods, passed_s, acting_, cores > 0 ? watts / cores : 0);
  fleet_.cpu_wait_price_w = cpu_wait_.price();
}

void ClusterModel::follow_late(const ClusterView& view, double passed_s) {
  double late = 0, pods = 0;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const NodeView& node = view.nodes[i];
    if (rows_[i].known->limited.empty() || node.asleep || !usable(node, options_.stale_after_s)) continue;
    for (const auto& [limit, count] : rows_[i].known->limited) {
      const auto latency_ms = latency_for(node, limit.first);
      if (!latency_ms) continue;
      pods += static_cast<double>(count);
      if (*latency_ms > limit.second) late += static_cast<double>(count);
    }
  }
  late_.measure(late, pods, passed_s, acting_, 1);
  fleet_.latency_price = latency_price();
}

// A plan relies on curves. The share of nodes whose curves were just contradicted by readings reduces the trust in it.
void ClusterModel::follow_curves(const ClusterView& view, double passed_s) {
  std::size_t opened = 0;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const PowerCurve& curve = view.nodes[i].curve;
    fleet_.nodes[i].watts = curve.points();
    fleet_.nodes[i].curve_error_w = curve.residual_sd_w();
    Known& known = *rows_[i].known;
    const double half_load_w = curve.watts(0.5);
    if (std::abs(half_load_w - known.half_load_w) > kOrderHysteresis * known.half_load_w)
      known.half_load_w = half_load_w;
    fleet_.nodes[i].half_load_w = known.half_load_w;
    if (known.curve_shifts && curve.shifts() > *known.curve_shifts) ++opened;
    known.curve_shifts = curve.shifts();
  }
  curve_doubt_ *= std::exp(-passed_s / kDoubtMemory_s);
  if (opened > 0)
    curve_doubt_ = std::min(1.0, curve_doubt_ + static_cast<double>(opened) / static_cast<double>(rows_.size()));
}

void ClusterModel::follow_usual_request() {
  Resources& usual = fleet_.usual_request;
  const Resources& mean = fleet_.mean_request;
  const auto moved = [](double was, double is) { return std::abs(is - was) > kUsualHysteresis * was; };
  if (moved(usual.cpu_cores, mean.cpu_cores) || moved(usual.memory_bytes, mean.memory_bytes)) usual = mean;
}

}  // namespace wattle::placement
