#include "placement/cluster/cluster_model.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "placement/cluster/sane_view.hpp"

namespace wattle::placement {

namespace {

// Trust in a correct forecast where pods stay. It is below 1, because the end of growth cannot be observed in advance.
// On the training fleets 0.3 and 1 did not differ (lab/docs/placement.md); this lies between them.
constexpr double kStayTrust = 0.6;
// Deviation of requests over their mean; plans count pods of the mean request.
constexpr double kAlikeRequests = 0.1, kUnlikeRequests = 0.4;
constexpr double kLeastRequest_cores = 1e-3;
constexpr double kLeastSeen_s = 60;     // until a pod's own spread is used
constexpr double kBurst_s = 300;        // correlation time of a pod's deviation from its mean
constexpr double kUpperEnd = 1.28;      // deviations that nine of ten normal values stay below
constexpr double kRequestMemory = 200;  // pods
constexpr double kAtOnce_s = 5;         // minimum between urgent revisions
constexpr std::size_t kLifeExpectations = 50;
constexpr std::size_t kMaxKnownNodes = 100'000;

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

bool apart_by(double a, double b, double ratio) { return std::abs(a - b) > ratio * std::max(a, b); }

// The observed mean deviates by bursts of kBurst_s, the prediction by the spread of similar pods.
double prior_of(const DemandPrediction& predicted) {
  const double spread2 = predicted.sd_cores * predicted.sd_cores;
  return spread2 > 0 ? std::clamp(kBurst_s * predicted.burst_cores2 / spread2, kLeastSeen_s, kHour_s) : kHour_s;
}

// Ignores a soft limit that is not a valid time or is above the hard one, as decisions do.
std::map<std::pair<std::string, double>, std::uint64_t>::value_type* limited_in(
    std::map<std::pair<std::string, double>, std::uint64_t>& limited, const PodSpec& pod) {
  if (!pod.latency_soft_ms) return nullptr;
  std::vector<std::string> ignored;
  const auto soft_ms = with_sane_limits(pod, ignored).latency_soft_ms;
  if (!soft_ms) return nullptr;
  auto& kind = *limited.try_emplace({pod.latency_target, *soft_ms}).first;
  ++kind.second;
  return &kind;
}

// Compares at the loads that nodes are filled to, where a plan would notice.
bool other_waiting(const WaitingCurve& a, const WaitingCurve& b) {
  constexpr double kNoticed = 0.03;
  for (const double load : {0.5, 0.7, 0.9})
    if (std::abs(a.wait(load, 0.01, 1) - b.wait(load, 0.01, 1)) > kNoticed) return true;
  return false;
}

}  // namespace

ClusterModel::ClusterModel(ClusterModelOptions options)
    : options_(options), demand_(options.demand), forecast_(options.forecast) {
  fleet_.pods_stay = false;
  fleet_.revision = 1;
}

// Too few readings give no useful variance.
inline std::optional<double> ClusterModel::Running::burst_cores2() const {
  if (seen_s < kLeastSeen_s) return std::nullopt;
  const double mean = seen_core_s / seen_s;
  return std::max(0.0, seen_core2_s / seen_s - mean * mean);
}

inline ClusterModel::Expected ClusterModel::Running::reckon() const {
  const double unknown = prior_s / (prior_s + seen_s);  // weight of the prediction
  const double own = burst_cores2().value_or(predicted.burst_cores2);
  Expected made;
  made.cores = predicted.cores;
  if (seen_s > 0) made.cores += (1 - unknown) * (seen_core_s / seen_s - predicted.cores);
  made.cores2 = own + unknown * (predicted.burst_cores2 + predicted.sd_cores * predicted.sd_cores - own);
  made.unsure_cores = kUpperEnd * unknown * predicted.unsure_cores;
  return made;
}

inline void ClusterModel::Running::see(double cores, double interval_s) {
  seen_core_s += cores * interval_s;
  seen_core2_s += cores * cores * interval_s;
  seen_s += interval_s;
  last_cores = cores;
  expected = reckon();
}

// Reports soon, because similar pods may arrive at any time, and then at doubling intervals. The end of the pod reports
// the rest.
inline bool ClusterModel::Running::reports() const {
  return reported_s < kHour_s && seen_s >= std::clamp(2 * reported_s, kLeastSeen_s, kHour_s);
}

inline void ClusterModel::Sums::add(const Running& running) {
  ++pods;
  pods_cores += running.expected.cores;
  pods_cores2 += running.expected.cores2;
  unsure_cores += running.expected.unsure_cores;
  last_cores += running.last_cores;
  life_s += running.predicted.life_s;
}

inline void ClusterModel::Sums::take(const Running& running) {
  --pods;
  pods_cores -= running.expected.cores;
  pods_cores2 -= running.expected.cores2;
  unsure_cores -= running.expected.unsure_cores;
  last_cores -= running.last_cores;
  life_s -= running.predicted.life_s;
  if (pods == 0) *this = {};  // no rounding errors remain
}

void ClusterModel::touch(const Known& known) {
  if (known.row != kNoRow && touched_.size() < rows_.size()) touched_.push_back(known.row);
}

// Reports the usage since the last report, within the first hour.
void ClusterModel::report(std::uint32_t slot) {
  Running& running = pods_[slot];
  const double since_s = running.seen_s - running.reported_s;
  if (running.reported_s >= kHour_s || !(since_s > 0)) return;
  Identity& whose = whose_[slot];
  demand_.observe(whose.app, whose.arrived_with, std::max(0.0, running.seen_core_s - whose.reported_core_s) / since_s,
                  since_s, running.burst_cores2());
  running.reported_s = running.seen_s;
  whose.reported_core_s = running.seen_core_s;
}

std::uint32_t ClusterModel::free_slot() {
  if (free_.empty()) {
    pods_.emplace_back();
    whose_.emplace_back();
    return static_cast<std::uint32_t>(pods_.size() - 1);
  }
  const std::uint32_t slot = free_.back();
  free_.pop_back();
  return slot;
}

PodHandle ClusterModel::pod(const std::string& uid) const {
  const auto found = slot_of_.find(uid);
  return found != slot_of_.end() ? PodHandle{found->second, pods_[found->second].generation} : PodHandle{};
}

const std::string* ClusterModel::uid(PodHandle pod) const { return runs(pod) ? whose_[pod.slot].uid : nullptr; }

PodHandle ClusterModel::placed(const PodSpec& pod, const std::string& node, MonoTime now) {
  if (pod.daemonset || pod.uid.empty()) return {};
  if (const PodHandle known = this->pod(pod.uid); runs(known)) return known;
  if (slot_of_.size() >= options_.max_pods) return {};
  if (known_.size() >= kMaxKnownNodes && !known_.contains(node)) return {};
  const std::uint32_t slot = free_slot();
  Running& running = pods_[slot];
  running = Running{.generation = running.generation + 1};
  running.known = &known_[node];
  const std::string* uid = &slot_of_.emplace(pod.uid, slot).first->first;
  const AppKey app = app_key_of(pod);
  whose_[slot] = {
      uid, app, app_id_of(app), 0, pod.request, pod.request, now, 0, limited_in(running.known->limited, pod)};
  running.predicted = predict(pod);
  running.prior_s = prior_of(running.predicted);
  running.expected = running.reckon();
  running.known->add(running);
  touch(*running.known);
  whose_[slot].there_cores = sane(running.predicted.cores, kMostCores);
  running.known->apps.add(whose_[slot].id, sane(pod.request).cpu_cores, whose_[slot].there_cores, 1);
  forecast_.arrived(pod.request.cpu_cores);
  request_weight_ = std::min(request_weight_ + 1, kRequestMemory);
  Resources& mean = arrived_request_;
  const Resources request = sane(pod.request);
  const double away_cores = request.cpu_cores - mean.cpu_cores;
  mean.cpu_cores += away_cores / request_weight_;
  request_variance_cores2_ +=
      (away_cores * (request.cpu_cores - mean.cpu_cores) - request_variance_cores2_) / request_weight_;
  mean.memory_bytes += (request.memory_bytes - mean.memory_bytes) / request_weight_;
  resized_.arrived_with.cpu_cores += request.cpu_cores;
  resized_.arrived_with.memory_bytes += request.memory_bytes;
  follow_mean_request();
  return {slot, running.generation};
}

void ClusterModel::used(std::span<const PodReading> readings, double interval_s) {
  if (!std::isfinite(interval_s) || interval_s <= 0) return;
  Known* known = nullptr;  // of the node whose sums are being updated
  Sums sums;
  const auto put_back = [&] {
    if (known == nullptr) return;
    static_cast<Sums&>(*known) = sums;
    touch(*known);
  };
  for (const auto& [pod, cores, waited] : readings) {
    if (!runs(pod) || !std::isfinite(cores) || cores < 0) continue;
    Running& running = pods_[pod.slot];
    if (running.known != known) {
      put_back();
      known = running.known;
      sums = *known;
    }
    sums.take(running);
    running.see(cores, interval_s);
    sums.add(running);
    if (waited && *waited >= 0 && *waited <= 1) {
      running.waited_s += *waited * interval_s;
      running.waited_of_s += interval_s;
      waits_reported_ = true;
    }
    if (running.reports()) report(pod.slot);
    if (running.seen_s - running.reported_life_s < kHour_s) continue;
    demand_.observe_life(whose_[pod.slot].app, running.seen_s - running.reported_life_s, false);
    running.reported_life_s = running.seen_s;
  }
  put_back();
}

void ClusterModel::gone(const std::string& uid, MonoTime now) {
  const auto found = slot_of_.find(uid);
  if (found == slot_of_.end()) return;
  const std::uint32_t slot = found->second;
  Running& running = pods_[slot];
  const Identity& whose = whose_[slot];
  running.known->take(running);
  touch(*running.known);
  running.known->apps.add(whose.id, sane(whose.request).cpu_cores, whose.there_cores, -1);
  report(slot);
  if (whose.limited != nullptr && --whose.limited->second == 0) running.known->limited.erase(whose.limited->first);
  demand_.observe_life(whose.app, std::max(1.0, seconds(now - whose.since) - running.reported_life_s), true);
  forecast_.went(whose.request.cpu_cores);
  const Resources arrived_with = sane(whose.arrived_with);
  resized_.arrived_with.cpu_cores -= arrived_with.cpu_cores;
  resized_.arrived_with.memory_bytes -= arrived_with.memory_bytes;
  count_resized(whose, -1);
  if (slot_of_.size() == 1) resized_ = {};  // no rounding errors remain
  follow_mean_request();
  running.known = nullptr;
  free_.push_back(slot);
  slot_of_.erase(found);
}

bool ClusterModel::same_nodes(const ClusterView& view) const {
  if (rows_.size() != view.nodes.size()) return false;
  for (std::size_t i = 0; i < rows_.size(); ++i)
    if (rows_[i].name != view.nodes[i].name) return false;
  return true;
}

void ClusterModel::list_nodes(const ClusterView& view) {
  for (auto& [name, known] : known_) known.row = kNoRow;
  rows_.clear();
  fleet_.nodes.assign(view.nodes.size(), {});
  fleet_.only.clear();
  for (const NodeView& node : view.nodes) {
    Known& known = known_[node.name];
    known.row = rows_.size();
    rows_.push_back({node.name, &known, false, {}, {}, {}});
  }
}

Fleet& ClusterModel::refresh(const ClusterView& view) {
  const bool fresh = !same_nodes(view);
  if (fresh) list_nodes(view);
  const double passed_s = refreshed_ ? std::max(0.0, seconds(view.now - *refreshed_)) : 0.0;
  refreshed_ = view.now;
  follow(view, passed_s);
  follow_waiting(view, passed_s);
  follow_late(view, passed_s);
  follow_pairs(view);
  follow_curves(view, passed_s);
  follow_usual_request();
  fill(view);
  revise(view, fresh);
  if (fleet_.pods_stay && forecast_.pods_stay()) fleet_.trust = trust();
  return all_open();
}

void ClusterModel::revise(const ClusterView& view, bool must) {
  const double since_s = revised_ ? seconds(view.now - *revised_) : options_.revise_every_s;
  const bool due = since_s >= options_.revise_every_s;
  if (!must && !due && since_s < kAtOnce_s) return;
  bool moved = must;
  for (std::size_t i = 0; i < rows_.size() && !moved; ++i) {
    const Row& row = rows_[i];
    const Resources size = size_of(view.nodes[i]);
    moved = row.usable != usable(view.nodes[i], options_.stale_after_s) ||
            row.allocatable.cpu_cores != size.cpu_cores || row.allocatable.memory_bytes != size.memory_bytes;
    const auto& watts = fleet_.nodes[i].watts;
    moved = moved || (due && fleet_.cpu_wait_price_w > 0 && other_waiting(fleet_.nodes[i].waiting, row.waiting));
    for (std::size_t k = 0; due && !moved && k < kCurvePoints; ++k)
      moved = std::abs(watts[k] - row.watts[k]) > options_.change_ratio * row.watts.back();
  }
  std::vector<double> cores = fleet_.expected_cores, demand = fleet_.expected_demand;
  if (due || must) {
    double capacity_cores = 0;
    for (const NodeView& node : view.nodes)
      if (usable(node, options_.stale_after_s)) capacity_cores += size_of(node).cpu_cores;
    cores = forecast_.expected_cores(capacity_cores);
    demand = demand_.expected_demand(kLifeExpectations);
    const auto apart = [&](const std::vector<double>& a, const std::vector<double>& b) {
      return a.empty() != b.empty() ||
             std::abs(mean_of(a) - mean_of(b)) > options_.change_ratio * std::max(mean_of(a), mean_of(b));
    };
    moved = moved || apart_by(fleet_.cpu_wait_price_w, planned_price_w_, options_.price_ratio);
    moved = moved || fleet_.pods_stay != forecast_.pods_stay() || apart(cores, fleet_.expected_cores) ||
            apart(demand, fleet_.expected_demand);
  }
  if (due) revised_ = view.now;
  if (!moved) return;
  revised_ = view.now;
  fleet_.expected_cores = std::move(cores);
  fleet_.expected_demand = std::move(demand);
  fleet_.expected_burst_cores2 = spread() * demand_.expected_burst_cores2();
  fleet_.trust = trust();
  planned_price_w_ = fleet_.cpu_wait_price_w;
  fleet_.pods_stay = forecast_.pods_stay();
  fleet_.hold_s = fleet_.pods_stay ? kDay_s : demand_.predict({}, {1, 0}).life_s;
  cores_per_request_ = demand_.predict({}, {1, 0}).cores;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    rows_[i].usable = usable(view.nodes[i], options_.stale_after_s);
    rows_[i].watts = fleet_.nodes[i].watts;
    rows_[i].waiting = fleet_.nodes[i].waiting;
    rows_[i].allocatable = size_of(view.nodes[i]);
  }
  fill(view);
  ++fleet_.revision;
}

double ClusterModel::trust() const {
  if (!forecast_.known()) return 0;
  if (!forecast_.pods_stay()) return plan_trust_;
  const double spread =
      std::sqrt(std::max(0.0, request_variance_cores2_)) / std::max(arrived_request_.cpu_cores, kLeastRequest_cores);
  const double alike = std::clamp((kUnlikeRequests - spread) / (kUnlikeRequests - kAlikeRequests), 0.0, 1.0);
  return kStayTrust * alike * forecast_.hour().trust() * (1 - curve_doubt_);
}

void ClusterModel::set_plan_trust(double trust) {
  plan_trust_ = std::clamp(trust, 0.0, 1.0);
  fleet_.trust = this->trust();
}

DemandPrediction ClusterModel::predict(const PodSpec& pod) const {
  if (options_.known)
    if (auto known = options_.known(pod)) return *known;
  return demand_.predict(app_key_of(pod), pod.request);
}

PodEstimate ClusterModel::ask(const PodSpec& pod) const {
  const DemandPrediction predicted = predict(pod);
  return {sane(pod.request),
          sane(predicted.cores, kMostCores),
          fleet_.pods_stay ? kDay_s : predicted.life_s,
          sane(spread() * (predicted.burst_cores2 + predicted.sd_cores * predicted.sd_cores), kMostCores * kMostCores),
          sane(kUpperEnd * predicted.unsure_cores, kMostCores),
          app_id_of(app_key_of(pod)),
          sane(predicted.sd_cores, kMostCores)};
}

std::optional<PodEstimate> ClusterModel::running(PodHandle pod) const {
  if (!runs(pod)) return std::nullopt;
  const Running& running = pods_[pod.slot];
  const Expected expected = running.reckon();
  return PodEstimate{sane(whose_[pod.slot].request),
                     sane(expected.cores, kMostCores),
                     running.predicted.life_s,
                     sane(spread() * expected.cores2, kMostCores * kMostCores),
                     sane(expected.unsure_cores, kMostCores),
                     whose_[pod.slot].id};
}

const PowerCurve* ClusterModel::kept_curve(const std::string& node) const {
  const auto kept = kept_curves_.find(node);
  return kept != kept_curves_.end() ? &kept->second : nullptr;
}

}  // namespace wattle::placement
