#include "placement/forecast.hpp"

#include <algorithm>
#include <cmath>

namespace wattle::placement {

namespace {
constexpr std::size_t kForecastExpectations = 9;
constexpr std::size_t kMaxBuckets = 100'000;
// A plan for more than comes opens servers for nothing: chosen by playing fills on training fleets (docs/research/consolidation.md).
constexpr double kGoesOn = 0.5;
bool usable(double value) { return std::isfinite(value) && value >= 0; }
}  // namespace

void RequestForecast::sample(double requested_cores, double now_s) {
  if (!usable(requested_cores) || !usable(now_s)) return;
  if (began_s_ < 0 || now_s < last_s_) {  // the first, or another clock
    began_s_ = last_s_ = now_s;
    weight_s_ = 0;
  }
  const double passed_s = now_s - last_s_;
  last_s_ = now_s;
  now_cores_ = requested_cores;
  weight_s_ += passed_s;
  if (weight_s_ > 0) open_.mean_cores += passed_s / weight_s_ * (requested_cores - open_.mean_cores);
  if (now_s - began_s_ < options_.bucket_s) return;
  past_.push_back(open_);
  while (past_.size() > std::max<std::size_t>(1, options_.buckets)) past_.pop_front();
  open_ = {};
  weight_s_ = 0;
  began_s_ = now_s;
}

void RequestForecast::came(double cores) {
  if (usable(cores)) open_.came_cores += cores;
}

void RequestForecast::went(double cores) {
  if (usable(cores)) open_.went_cores += cores;
}

RequestForecast::Bucket RequestForecast::sum() const {
  Bucket all = open_;
  for (const Bucket& bucket : past_) {
    all.came_cores += bucket.came_cores;
    all.went_cores += bucket.went_cores;
  }
  return all;
}

bool RequestForecast::pods_stay() const {
  if (!known()) return false;
  const Bucket all = sum();
  return all.came_cores > 0 && all.went_cores < options_.stay_ratio * all.came_cores;
}

std::vector<double> RequestForecast::expected_cores(double capacity_cores) const {
  if (!known()) return {};
  std::vector<double> expected;
  const auto add = [&](double cores) { expected.push_back(std::clamp(cores, 0.0, std::max(0.0, capacity_cores))); };
  if (pods_stay()) {
    const Bucket all = sum();
    const double growth_cores = all.came_cores - all.went_cores;
    for (std::size_t i = 0; i < kForecastExpectations; ++i)
      add(now_cores_ + kGoesOn * growth_cores * static_cast<double>(i) / (kForecastExpectations - 1));
    return expected;
  }
  std::vector<double> means;
  for (const Bucket& bucket : past_) means.push_back(bucket.mean_cores);
  std::sort(means.begin(), means.end());
  for (std::size_t i = 0; i < kForecastExpectations; ++i)
    add(means[i * (means.size() - 1) / (kForecastExpectations - 1)]);
  return expected;
}

void RequestForecast::pack(PackWriter& out) const {
  out.word(past_.size());
  for (const Bucket& bucket : past_)
    for (const double value : {bucket.mean_cores, bucket.came_cores, bucket.went_cores}) out.real(value);
}

void RequestForecast::unpack(PackReader& in) {
  const std::size_t count = in.count(24);
  if (count > kMaxBuckets) in.refuse();
  std::deque<Bucket> past;
  for (std::size_t i = 0; i < count && in.ok(); ++i) {
    Bucket bucket;
    for (double* value : {&bucket.mean_cores, &bucket.came_cores, &bucket.went_cores}) {
      *value = in.real();
      if (*value < 0) in.refuse();
    }
    past.push_back(bucket);
  }
  if (!in.ok()) return;
  past_ = std::move(past);
  while (past_.size() > std::max<std::size_t>(1, options_.buckets)) past_.pop_front();
}

}  // namespace wattle::placement
