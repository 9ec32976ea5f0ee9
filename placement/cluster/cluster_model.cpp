// cluster_model: combines its parts.
// Format   "wattle-cluster-model 1\n", SHA-256 of the rest in hex, "\n", the rest (placement/cluster/packed.hpp):
//          demand, forecast, mean request and its weight, curves by node, budget of waiting, waiting of the fleet and
//          by node, variance of requests, budget of lateness, scores of the forecast, pairs of applications
#include "placement/cluster/cluster_model.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "common/digest.hpp"
#include "placement/cluster/sane_view.hpp"

namespace wattle::placement {

namespace {

constexpr std::string_view kMagic = "wattle-cluster-model 1\n";
constexpr std::size_t kDigestSize = 64;
constexpr std::size_t kMaxBytes = std::size_t{256} << 20;
// Trust in a correct forecast where pods stay. It is below 1, because the end of growth cannot be observed in advance.
// On the training fleets 0.3 and 1 did not differ (lab/docs/placement.md); this value is between them.
constexpr double kStayTrust = 0.6;
constexpr double kAtOnce_s = 5;  // minimum between urgent revisions
constexpr std::size_t kLifeExpectations = 50;
constexpr std::size_t kMaxKnownNodes = 100'000;

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

bool apart_by(double a, double b, double ratio) { return std::abs(a - b) > ratio * std::max(a, b); }

bool apart_by(const std::vector<double>& a, const std::vector<double>& b, double ratio) {
  return a.empty() != b.empty() || apart_by(mean_of(a), mean_of(b), ratio);
}

void follow_usual_request(Fleet& fleet) {
  const Resources& mean = fleet.mean_request;
  const auto moved = [](double was, double is) { return std::abs(is - was) > kUsualHysteresis * was; };
  if (moved(fleet.usual_request.cpu_cores, mean.cpu_cores) ||
      moved(fleet.usual_request.memory_bytes, mean.memory_bytes))
    fleet.usual_request = mean;
}

constexpr double kBusyCores = 0.05;  // a pod that uses less does not count
constexpr double kAlike = 0.02;      // waits that differ by less count as equal

// Waiting of the busy pods of a node.
struct BusyPods {
  double least_wait = 1, second_wait = 1, most_wait = 0;
  std::size_t pods = 0;
  void add(double wait) {
    second_wait = std::min(second_wait, std::max(wait, least_wait));
    least_wait = std::min(least_wait, wait);
    most_wait = std::max(most_wait, wait);
    ++pods;
  }
  bool alike() const { return pods > 2 && least_wait > kAlike && most_wait - least_wait < kAlike; }
};

// Learns from the waiting of pods which applications make each other wait. The node itself causes the smaller of the
// least waiting of the other pods there and the waiting that its curve predicts. The curve alone does not suffice,
// because it may have learned the waiting of pairs as if it were load. If three or more pods wait equally, the node is
// the cause, regardless of its curve. The nodes of `waits` have rows in the view.
void learn_pairs(const std::vector<PodWait>& waits, const ClusterView& view, PairExcess& pairs) {
  std::unordered_map<const KnownNode*, BusyPods> busy;
  for (const PodWait& pod : waits)
    if (pod.cores >= kBusyCores) busy[pod.node].add(pod.waited);
  std::vector<AppId> beside;
  for (const PodWait& pod : waits) {
    const NodeView& node = view.nodes[pod.node->row];
    if (pod.cores < kBusyCores || node.asleep) continue;
    const BusyPods& there = busy.at(pod.node);
    if (there.alike()) continue;
    const double any_pod =
        pod.node->waiting.model.curve().wait(node.values.cpu_used_cores.value_or(0), 0, size_of(node).cpu_cores);
    const double others = pod.waited > there.least_wait ? there.least_wait : there.second_wait;
    beside.clear();
    for (const AppThere& app : pod.node->apps.all())
      if (app.app != pod.app || app.pods > 1) beside.push_back(app.app);
    pairs.observe(pod.app, beside, std::max(0.0, pod.waited - std::min(any_pod, others)), pod.seen_s);
  }
}

}  // namespace

ClusterModel::ClusterModel(ClusterModelOptions options)
    : options_(options),
      demand_(options.demand),
      forecast_(options.forecast),
      rows_({options.idle_nodes_sleep, options.sleep_w, options.stale_after_s, options.change_ratio}) {}

PodHandle ClusterModel::placed(const PodSpec& pod, const std::string& node, MonoTime now) {
  if (pod.daemonset || pod.uid.empty()) return {};
  if (const PodHandle known = pods_.find(pod.uid); pods_.runs(known)) return known;
  if (pods_.size() >= options_.max_pods) return {};
  if (nodes_.size() >= kMaxKnownNodes && !nodes_.contains(node)) return {};
  const PodHandle started = pods_.start(pod, nodes_[node], predict(pod), now);
  forecast_.arrived(pod.request.cpu_cores);
  requests_.started(pod.request);
  rows_.fleet().mean_request = requests_.mean();
  return started;
}

void ClusterModel::gone(const std::string& uid, MonoTime now) {
  const auto ended = pods_.end(uid, now, demand_);
  if (!ended) return;
  forecast_.went(ended->now.cpu_cores);
  requests_.ended(ended->now, ended->arrived_with);
  rows_.fleet().mean_request = requests_.mean();
}

void ClusterModel::resized(const std::string& uid, const Resources& request) {
  const auto before = pods_.resize(uid, request);
  if (!before) return;
  forecast_.resized(request.cpu_cores - before->now.cpu_cores);
  requests_.resized(before->now, request, before->arrived_with);
  rows_.fleet().mean_request = requests_.mean();
}

Fleet& ClusterModel::refresh(const ClusterView& view) {
  const bool fresh = !rows_.same_nodes(view);
  if (fresh) rows_.list_nodes(view, nodes_);
  const double passed_s = refreshed_ ? std::max(0.0, seconds(view.now - *refreshed_)) : 0.0;
  refreshed_ = view.now;
  observe(view, passed_s);
  Fleet& fleet = rows_.fleet();
  follow_usual_request(fleet);
  rows_.fill(view, row_values(), pods_.changed());
  revise(view, fresh);
  if (fleet.pods_stay && forecast_.pods_stay()) fleet.trust = trust();
  fleet.pairs = pairs_.pairs() > 0 ? &pairs_ : nullptr;
  rows_.open_all();
  return fleet;
}

void ClusterModel::observe(const ClusterView& view, double passed_s) {
  double requested_cores = 0;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const NodeView& node = view.nodes[i];
    KnownNode& known = rows_.node(i);
    requested_cores += node.requested.cpu_cores;
    usage_.add(node, known, passed_s);
    if (usable(node, options_.stale_after_s)) pod_time_.add(node, known);
    rows_.set_curve(i, node.curve);
  }
  usage_.end_round(passed_s);
  pod_time_.end_round(passed_s);
  forecast_.sample(requested_cores, seconds(view.now.time_since_epoch()));
  learn_pairs(pods_.take_waits(), view, pairs_);
  const double error_cores = forecast_.hour().score().error_cores;
  Fleet& fleet = rows_.fleet();
  fleet.forecast_error_ratio = requested_cores > 0 ? sane(error_cores / requested_cores, 1e6) : 0;
  fleet.cpu_wait_price_w = pod_time_.cpu_wait().price();
  fleet.latency_price = pod_time_.latency_price();
}

void ClusterModel::revise(const ClusterView& view, bool must) {
  const double since_s = revised_ ? seconds(view.now - *revised_) : options_.revise_every_s;
  const bool due = since_s >= options_.revise_every_s;
  if (!must && !due && since_s < kAtOnce_s) return;
  Fleet& fleet = rows_.fleet();
  bool moved = must || rows_.moved(view, due);
  std::vector<double> cores = fleet.expected_cores, demand = fleet.expected_demand;
  if (due || must) {
    double capacity_cores = 0;
    for (const NodeView& node : view.nodes)
      if (usable(node, options_.stale_after_s)) capacity_cores += size_of(node).cpu_cores;
    cores = forecast_.expected_cores(capacity_cores);
    demand = demand_.expected_demand(kLifeExpectations);
    moved = moved || apart_by(fleet.cpu_wait_price_w, planned_price_w_, options_.price_ratio) ||
            fleet.pods_stay != forecast_.pods_stay() || apart_by(cores, fleet.expected_cores, options_.change_ratio) ||
            apart_by(demand, fleet.expected_demand, options_.change_ratio);
  }
  if (due) revised_ = view.now;
  if (!moved) return;
  revised_ = view.now;
  fleet.expected_cores = std::move(cores);
  fleet.expected_demand = std::move(demand);
  fleet.expected_burst_cores2 = usage_.spread() * demand_.expected_burst_cores2();
  fleet.trust = trust();
  planned_price_w_ = fleet.cpu_wait_price_w;
  fleet.pods_stay = forecast_.pods_stay();
  const DemandPrediction usual = demand_.predict({}, {1, 0});
  fleet.hold_s = fleet.pods_stay ? kDay_s : usual.life_s;
  cores_per_request_ = usual.cores;
  rows_.revise(view);
  rows_.fill(view, row_values(), pods_.changed());
  ++fleet.revision;
}

void ClusterModel::update(const ClusterView& view) {
  if (!rows_.update(view, row_values(), pods_.changed())) refresh(view);
  rows_.fleet().pairs = pairs_.pairs() > 0 ? &pairs_ : nullptr;
}

Fleet& ClusterModel::fleet(const ClusterView& view) {
  update(view);
  rows_.open_all();
  return rows_.fleet();
}

Fleet& ClusterModel::fleet(const ClusterView& view, std::vector<std::size_t> only) {
  update(view);
  rows_.open_only(std::move(only));
  return rows_.fleet();
}

// Where pods stay, it is the trust in the forecast, reduced by the differences between requests. 0 before the forecast
// has data.
double ClusterModel::trust() const {
  if (!forecast_.known()) return 0;
  if (!forecast_.pods_stay()) return plan_trust_;
  return kStayTrust * requests_.similarity() * forecast_.hour().trust();
}

void ClusterModel::set_plan_trust(double trust) {
  plan_trust_ = std::clamp(trust, 0.0, 1.0);
  rows_.fleet().trust = this->trust();
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
          rows_.fleet().pods_stay ? kDay_s : predicted.life_s,
          sane(usage_.spread() * (predicted.burst_cores2 + predicted.sd_cores * predicted.sd_cores),
               kMostCores * kMostCores),
          sane(kUpperEnd * predicted.uncertain_cores, kMostCores),
          app_id_of(app_key_of(pod)),
          sane(predicted.sd_cores, kMostCores)};
}

const PowerCurve* ClusterModel::kept_curve(const std::string& node) const {
  const auto kept = kept_curves_.find(node);
  return kept != kept_curves_.end() ? &kept->second : nullptr;
}

std::string ClusterModel::save(const ClusterView& view) const {
  std::map<std::string_view, const PowerCurve*> curves;
  for (const NodeView& node : view.nodes)
    if (node.curve.samples() > 0 && curves.size() < options_.max_curves) curves.emplace(node.name, &node.curve);
  for (const auto& [name, curve] : kept_curves_)
    if (curves.size() < options_.max_curves) curves.emplace(name, &curve);
  PackWriter out;
  demand_.pack(out);
  forecast_.pack(out);
  requests_.pack(out);
  out.word(curves.size());
  for (const auto& [name, curve] : curves) {
    out.text(name);
    curve->pack(out);
  }
  pod_time_.pack(out);
  std::map<std::string_view, const WaitingModel*> waiting;
  for (const auto& [name, known] : nodes_)
    if (known.waiting.model.samples() > 0 && waiting.size() < options_.max_curves)
      waiting.emplace(name, &known.waiting.model);
  out.word(waiting.size());
  for (const auto& [name, model] : waiting) {
    out.text(name);
    model->pack(out);
  }
  requests_.pack_variance(out);
  pod_time_.pack_late(out);
  forecast_.pack_scores(out);
  pairs_.pack(out);
  const std::string body = out.take();
  return std::string(kMagic) + sha256_hex(body) + "\n" + body;
}

Status ClusterModel::restore(std::string_view bytes) {
  const auto refused = [](const char* what) {
    return fail(Errc::malformed, "cluster model", what, "remove the file; the controller learns its content again");
  };
  const std::size_t head = kMagic.size() + kDigestSize + 1;
  if (bytes.size() > kMaxBytes) return refused("is too large");
  if (bytes.size() < head || !bytes.starts_with(kMagic)) return refused("has an unknown format or version");
  const std::string_view body = bytes.substr(head);
  if (sha256_hex(body) != bytes.substr(kMagic.size(), kDigestSize)) return refused("is damaged");
  PackReader in(body);
  ClusterModel read(options_);
  read.pod_time_ = pod_time_;
  read.demand_.unpack(in);
  read.forecast_.unpack(in);
  read.requests_.unpack(in);
  for (std::size_t left = in.count(16); left > 0 && in.ok(); --left) {
    std::string name = in.text();
    PowerCurve curve = PowerCurve::unpack(in);
    if (read.kept_curves_.size() < options_.max_curves) read.kept_curves_.emplace(std::move(name), curve);
  }
  read.pod_time_.unpack(in);
  for (std::size_t left = in.count(16); left > 0 && in.ok(); --left) {
    const std::string name = in.text();
    WaitingModel model = WaitingModel::unpack(in);
    if (read.nodes_.size() < options_.max_curves) read.nodes_[name].waiting.model = model;
  }
  read.requests_.unpack_variance(in);
  read.pod_time_.unpack_late(in);
  read.forecast_.unpack_scores(in);
  read.pairs_.unpack(in);
  if (!in.done()) return refused("contains invalid values");
  Fleet& fleet = read.rows_.fleet();
  fleet.mean_request = read.requests_.mean();
  fleet.cpu_wait_price_w = read.pod_time_.cpu_wait().price();
  fleet.latency_price = read.pod_time_.latency_price();
  *this = std::move(read);
  return {};
}

}  // namespace wattle::placement
