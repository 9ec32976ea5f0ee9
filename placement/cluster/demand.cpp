#include "placement/cluster/demand.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "common/owner_name.hpp"

namespace wattle::placement {

namespace {

constexpr double kRequestWhenNoneCores = 0.1;  // as in the default scheduler
constexpr double kOutlierSpreads = 4;
constexpr double kEnoughPods = 8;
constexpr double kMaxDemandRatio = 1000;
constexpr double kPriorBurst = 0.3;  // deviation over time of an unknown pod, over its mean

double request_of(const Resources& request) {
  return request.cpu_cores > 0 && std::isfinite(request.cpu_cores) ? request.cpu_cores : kRequestWhenNoneCores;
}

// Appends the namespace. It comes last because an image may be any text, including a separator.
std::string in_namespace(std::string key, const std::string& pod_namespace) {
  return pod_namespace.empty() ? key : std::move(key) + '\n' + pod_namespace;
}
std::string key_of(const AppKey& app) {
  return in_namespace(app.owner + '\n' + app.image + '\n' + app.labels, app.pod_namespace);
}
std::string image_key_of(const AppKey& app) { return in_namespace(app.image, app.pod_namespace); }

}  // namespace

AppKey app_key_of(std::string_view app, std::string_view pod_namespace) {
  const auto space = app.find(' ');
  const auto slash = app.find('/');
  if (slash == std::string_view::npos || slash > space)
    return {{}, std::string(app), {}, std::string(pod_namespace)};  // no owner
  const std::string_view owner = lasting_owner(app.substr(0, space));
  return {std::string(owner),
          space == std::string_view::npos ? std::string() : std::string(app.substr(space + 1)),
          {},
          std::string(pod_namespace)};
}

AppKey app_key_of(const PodSpec& pod) { return app_key_of(pod.app, pod.pod_namespace); }

void DemandModel::Stats::add(double value, double by, double memory) {
  if (weight > memory) {
    square *= memory / weight;
    weight = memory;
  }
  const double deviation = value - mean;
  weight += by;
  mean += by / weight * deviation;
  square += by * deviation * (value - mean);
}

DemandModel::DemandModel(DemandOptions options) : options_(options) {}

DemandModel::DemandModel(const DemandModel& other)
    : options_(other.options_),
      apps_(other.apps_),
      images_(other.images_),
      recent_(other.recent_),
      all_(other.all_),
      within_(other.within_),
      within_weight_(other.within_weight_) {
  find_seen();
}

DemandModel& DemandModel::operator=(const DemandModel& other) {
  if (this != &other) *this = DemandModel(other);
  return *this;
}

// Points the applications at recent_ of this object, after a copy.
void DemandModel::find_seen() {
  for (auto at = recent_.begin(); at != recent_.end(); ++at) apps_.at(*at).seen = at;
}

DemandModel::App& DemandModel::app_of(const AppKey& key) {
  const std::string name = key_of(key);
  if (const auto found = apps_.find(name); found != apps_.end()) {
    recent_.splice(recent_.begin(), recent_, found->second.seen);
    return found->second;
  }
  if (apps_.size() >= std::max<std::size_t>(1, options_.max_apps)) {
    const std::string oldest = recent_.back();
    const std::string image = apps_.at(oldest).image;
    apps_.erase(oldest);
    recent_.pop_back();
    if (std::none_of(apps_.begin(), apps_.end(), [&](const auto& each) { return each.second.image == image; }))
      images_.erase(image);
  }
  recent_.push_front(name);
  App& made = apps_[name];
  made.image = image_key_of(key);
  made.seen = recent_.begin();
  return made;
}

bool DemandModel::observe(const AppKey& key, const Resources& request, double mean_cores, double seen_s,
                          std::optional<double> burst_cores2) {
  if (!std::isfinite(mean_cores) || mean_cores < 0 || !std::isfinite(seen_s) || seen_s <= 0) return false;
  App& app = app_of(key);
  const double by = std::min(1.0, seen_s / options_.full_weight_s);
  double ratio = std::min(mean_cores / request_of(request), kMaxDemandRatio);
  const double spread = std::sqrt(app.stats.variance());
  if (app.stats.weight >= kEnoughPods && spread > 0) {
    ratio = std::clamp(ratio, app.stats.mean - kOutlierSpreads * spread, app.stats.mean + kOutlierSpreads * spread);
    within_ += by * (ratio - app.stats.mean) * (ratio - app.stats.mean);
    within_weight_ += by;
    if (within_weight_ > 10 * options_.memory_pods) {
      within_ /= 2;
      within_weight_ /= 2;
    }
  }
  app.stats.add(ratio, by, options_.memory_pods);
  app.stats.request_cores += by / app.stats.weight * (request_of(request) - app.stats.request_cores);
  images_[app.image].add(ratio, by, 4 * options_.memory_pods);
  all_.add(ratio, by, 20 * options_.memory_pods);
  if (!burst_cores2 || !std::isfinite(*burst_cores2) || *burst_cores2 < 0) return true;
  const double burst = std::min(*burst_cores2 / (request_of(request) * request_of(request)), kMaxDemandRatio);
  for (Stats* stats : {&app.stats, &images_[app.image], &all_}) {
    stats->burst_weight = std::min(stats->burst_weight + by, options_.memory_pods);
    stats->burst += by / stats->burst_weight * (burst - stats->burst);
  }
  return true;
}

bool DemandModel::observe_life(const AppKey& key, double ran_s, bool ended) {
  if (!std::isfinite(ran_s) || ran_s <= 0) return false;
  App& app = app_of(key);
  for (Stats* stats : {&app.stats, &images_[app.image], &all_}) {
    stats->ran_s += ran_s;
    stats->ended += ended ? 1 : 0;
    if (stats != &all_ && stats->ended > options_.memory_pods) {
      stats->ran_s /= 2;
      stats->ended /= 2;
    }
  }
  return true;
}

double DemandModel::prior_weight() const {
  // The variances need data on some applications.
  if (within_weight_ < 4 * kEnoughPods || all_.weight < 4 * kEnoughPods) return options_.prior_weight_pods;
  const double within = within_ / within_weight_;
  const double between = std::max(all_.variance() - within, 0.02 * all_.variance());
  return between > 0 ? std::clamp(within / between, 0.2, 50.0) : options_.prior_weight_pods;
}

double DemandModel::ratio_of(const Stats* app, const Stats* image) const {
  const double k = prior_weight();
  const auto shrunk = [k](const Stats* stats, double prior) {
    return stats ? (stats->weight * stats->mean + k * prior) / (stats->weight + k) : prior;
  };
  return shrunk(app, shrunk(image, shrunk(&all_, options_.prior_ratio)));
}

double DemandModel::burst_of(const Stats* app, const Stats* image) const {
  const double k = options_.prior_weight_pods;
  double burst = kPriorBurst * kPriorBurst * options_.prior_ratio * options_.prior_ratio;
  for (const Stats* stats : {&all_, image, app})
    if (stats) burst = (stats->burst_weight * stats->burst + k * burst) / (stats->burst_weight + k);
  return burst;
}

DemandPrediction DemandModel::predict(const AppKey& key, const Resources& request) const {
  const auto app = apps_.find(key_of(key));
  const auto image = images_.find(image_key_of(key));
  const Stats* app_stats = app == apps_.end() ? nullptr : &app->second.stats;
  const Stats* image_stats = image == images_.end() ? nullptr : &image->second;
  DemandPrediction prediction;
  const double cores = request_of(request);
  prediction.cores = cores * ratio_of(app_stats, image_stats);
  prediction.seen_pods = app_stats ? app_stats->weight : 0;
  const double k = prior_weight();
  const double share = prediction.seen_pods / (prediction.seen_pods + k);
  const double own = app_stats ? app_stats->variance() : 0;
  const double prior = options_.prior_weight_pods * options_.prior_sd_ratio * options_.prior_sd_ratio;
  const double between =
      (all_.weight * all_.variance() + prior) / std::max(1e-9, all_.weight + options_.prior_weight_pods);
  const double variance = share * own + (1 - share) * between;
  prediction.sd_cores = cores * std::sqrt(variance * (1 + 1 / (prediction.seen_pods + k)));
  prediction.uncertain_cores = cores * std::sqrt((1 - share) * between + share * own / (prediction.seen_pods + k));
  prediction.burst_cores2 = cores * cores * burst_of(app_stats, image_stats);
  double life_s = options_.prior_life_s;
  for (const Stats* stats : {&all_, image_stats, app_stats})
    if (stats)
      life_s = (stats->ran_s + options_.prior_weight_pods * life_s) / (stats->ended + options_.prior_weight_pods);
  prediction.life_s = life_s;
  return prediction;
}

std::vector<double> DemandModel::expected_demand(std::size_t n) const {
  std::vector<std::pair<double, double>> seen;  // predicted cores, weight
  double total = 0;
  for (const auto& [name, app] : apps_) {
    if (!(app.stats.weight > 0)) continue;
    const auto image = images_.find(app.image);
    seen.emplace_back(app.stats.request_cores * ratio_of(&app.stats, image == images_.end() ? nullptr : &image->second),
                      app.stats.weight);
    total += app.stats.weight;
  }
  std::sort(seen.begin(), seen.end());
  std::vector<double> quantiles;
  double below = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < n && !seen.empty(); ++i) {
    const double wanted = (static_cast<double>(i) + 0.5) / static_cast<double>(n) * total;
    while (at + 1 < seen.size() && below + seen[at].second < wanted) below += seen[at++].second;
    quantiles.push_back(seen[at].first);
  }
  return quantiles;
}

double DemandModel::expected_burst_cores2() const {
  double sum = 0, total = 0;
  for (const auto& [name, app] : apps_) {
    if (!(app.stats.weight > 0)) continue;
    const auto image = images_.find(app.image);
    const double cores = app.stats.request_cores;
    const double burst = burst_of(&app.stats, image == images_.end() ? nullptr : &image->second);
    sum += app.stats.weight * cores * cores * (burst + app.stats.variance());
    total += app.stats.weight;
  }
  return total > 0 ? sum / total : burst_of(nullptr, nullptr);
}

void DemandModel::Stats::pack(PackWriter& out) const {
  for (const double value : {weight, mean, square, request_cores, ran_s, ended, burst, burst_weight}) out.real(value);
}

void DemandModel::Stats::unpack(PackReader& in) {
  for (double* value : {&weight, &mean, &square, &request_cores, &ran_s, &ended, &burst, &burst_weight}) {
    *value = in.real();
    if (*value < 0) in.refuse();
  }
}

void DemandModel::pack(PackWriter& out) const {
  all_.pack(out);
  out.real(within_);
  out.real(within_weight_);
  out.word(images_.size());
  for (const auto& [image, stats] : images_) {
    out.text(image);
    stats.pack(out);
  }
  out.word(recent_.size());
  for (const std::string& name : recent_) {
    const App& app = apps_.at(name);
    out.text(name);
    out.text(app.image);
    app.stats.pack(out);
  }
}

void DemandModel::unpack(PackReader& in) {
  constexpr std::size_t kLeastBytes = 9 * 8;
  DemandModel read(options_);
  read.all_.unpack(in);
  read.within_ = in.real();
  read.within_weight_ = in.real();
  std::unordered_map<std::string, Stats> images;
  for (std::size_t left = in.count(kLeastBytes); left > 0 && in.ok(); --left) images[in.text()].unpack(in);
  for (std::size_t left = in.count(kLeastBytes); left > 0 && in.ok(); --left) {
    const std::string name = in.text();
    App app;
    app.image = in.text();
    app.stats.unpack(in);
    if (read.apps_.size() >= std::max<std::size_t>(1, options_.max_apps) || read.apps_.contains(name)) continue;
    read.recent_.push_back(name);
    app.seen = std::prev(read.recent_.end());
    if (const auto found = images.find(app.image); found != images.end()) read.images_.insert(*found);
    read.apps_.emplace(name, std::move(app));
  }
  if (in.ok()) *this = std::move(read);
}

}  // namespace wattle::placement
