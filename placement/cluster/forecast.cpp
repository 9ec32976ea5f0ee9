#include "placement/cluster/forecast.hpp"

#include <algorithm>
#include <cmath>

namespace wattle::placement {

namespace {
constexpr std::size_t kForecastExpectations = 9;
constexpr std::size_t kMaxBuckets = 100'000;
constexpr double kAhead_s = 3600;
constexpr double kMostGrowth = 2;      // growth that a plan assumes, over that of the last hour
constexpr std::size_t kLeastPace = 3;  // buckets needed to estimate growth
constexpr double kMostPace = 4;        // limit of the extrapolation from a shorter past
bool usable(double value) { return std::isfinite(value) && value >= 0; }
}  // namespace

RequestForecast::RequestForecast(ForecastOptions options)
    : options_(options),
      hour_(HorizonOptions{.ahead_s = kAhead_s}),
      window_(HorizonOptions{.ahead_s = options.bucket_s * static_cast<double>(options.buckets),
                             .most_due = options.buckets + 1}) {}

void RequestForecast::sample(double requested_cores, double now_s) {
  if (!usable(requested_cores) || !usable(now_s)) return;
  if (began_s_ < 0 || now_s < last_s_) {  // the first call, or another clock
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
  close();
}

void RequestForecast::close() {
  const std::size_t ahead = in_an_hour();
  HorizonForecast::Seen seen{now_cores_, growth_cores(ahead), {}};
  if (past_.size() >= options_.buckets && past_.size() > ahead)
    seen.of_day_cores = now_cores_ + past_[ahead].mean_cores - past_.front().mean_cores;
  if (past_.size() >= std::min(ahead, kLeastPace)) hour_.step(seen, last_s_);
  if (known()) window_.step({now_cores_, growth_cores(options_.buckets), {}}, last_s_);
}

std::size_t RequestForecast::in_an_hour() const {
  return static_cast<std::size_t>(std::max(1.0, std::round(kAhead_s / options_.bucket_s)));
}

// Extrapolates the growth of the past `buckets`, or of as many as there are.
double RequestForecast::growth_cores(std::size_t buckets) const {
  const std::size_t seen = std::min(buckets, past_.size());
  double cores = 0;
  for (std::size_t i = past_.size() - seen; i < past_.size(); ++i)
    cores += past_[i].arrived_cores - past_[i].went_cores;
  return seen > 0 ? cores * std::min(kMostPace, static_cast<double>(buckets) / static_cast<double>(seen)) : 0;
}

void RequestForecast::arrived(double cores) {
  if (usable(cores)) open_.arrived_cores += cores;
}

void RequestForecast::went(double cores) {
  if (usable(cores)) open_.went_cores += cores;
}

void RequestForecast::resized(double cores) {
  if (std::isfinite(cores)) open_.arrived_cores += cores;
}

RequestForecast::Bucket RequestForecast::sum() const {
  Bucket all = open_;
  for (const Bucket& bucket : past_) {
    all.arrived_cores += bucket.arrived_cores;
    all.went_cores += bucket.went_cores;
  }
  return all;
}

bool RequestForecast::pods_stay() const {
  if (!known()) return false;
  const Bucket all = sum();
  return all.arrived_cores > 0 && all.went_cores < options_.stay_ratio * all.arrived_cores;
}

std::vector<double> RequestForecast::expected_cores(double capacity_cores) const {
  if (!known()) return {};
  std::vector<double> expected;
  const auto add = [&](double cores) { expected.push_back(std::clamp(cores, 0.0, std::max(0.0, capacity_cores))); };
  if (pods_stay()) {
    const auto& next = hour_.next();
    const double hour_cores = std::max(0.0, growth_cores(in_an_hour()));
    const double most_cores =
        next ? std::clamp(next->high_cores, now_cores_, now_cores_ + kMostGrowth * hour_cores) : now_cores_;
    for (std::size_t i = 0; i < kForecastExpectations; ++i)
      add(now_cores_ + (most_cores - now_cores_) * static_cast<double>(i) / (kForecastExpectations - 1));
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
    for (const double value : {bucket.mean_cores, bucket.arrived_cores, bucket.went_cores}) out.real(value);
}

void RequestForecast::unpack(PackReader& in) {
  const std::size_t count = in.count(24);
  if (count > kMaxBuckets) in.refuse();
  std::deque<Bucket> past;
  for (std::size_t i = 0; i < count && in.ok(); ++i) {
    Bucket bucket;
    for (double* value : {&bucket.mean_cores, &bucket.arrived_cores, &bucket.went_cores}) *value = in.real();
    if (bucket.mean_cores < 0 || bucket.went_cores < 0) in.refuse();  // resizes may leave less than came
    past.push_back(bucket);
  }
  if (!in.ok()) return;
  past_ = std::move(past);
  while (past_.size() > std::max<std::size_t>(1, options_.buckets)) past_.pop_front();
}

void RequestForecast::pack_scores(PackWriter& out) const {
  hour_.pack(out);
  window_.pack(out);
}

void RequestForecast::unpack_scores(PackReader& in) {
  hour_.unpack(in);
  window_.unpack(in);
}

}  // namespace wattle::placement
