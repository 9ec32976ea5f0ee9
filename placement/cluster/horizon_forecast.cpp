#include "placement/cluster/horizon_forecast.hpp"

namespace wattle::placement {

namespace {

constexpr double kWidthStep = 0.1;  // of the range's logarithm, per forecast
constexpr double kLeastWidth = 1.0, kMostWidth = 20.0;
constexpr double kLeastSpread = 0.005;                  // of the requested cores
constexpr double kPoorWithin = 0.5, kGoodWithin = 0.8;  // no trust at the first, full trust at the second
constexpr double kFirstGrowth = 0.5;
constexpr double kRight_cores = 1e-6;

// Pinball loss (Koenker and Bassett 1978).
double pinball(double quantile, double predicted, double actual) {
  return actual >= predicted ? quantile * (actual - predicted) : (1 - quantile) * (predicted - actual);
}

}  // namespace

void HorizonForecast::judge(const Due& due, double cores) {
  const double keep = 1 - 1 / options_.memory;
  scored_.judge(due.guesses, cores, 1 - 1 / options_.guess_memory);
  const double error = std::abs(due.reported.cores - cores), still_error = std::abs(*due.guesses[kStill] - cores);
  const bool within = cores >= due.reported.low_cores - kRight_cores && cores <= due.reported.high_cores + kRight_cores;
  range_ = followed_range(range_, within, options_.range_share, kWidthStep, kLeastWidth, kMostWidth);
  weight_ = weight_ * keep + 1;
  within_weight_ = within_weight_ * keep + (within ? 1 : 0);
  if (std::max(error, still_error) > kRight_cores) {
    recent_error_ = recent_error_ * keep + error;
    recent_still_error_ = recent_still_error_ * keep + still_error;
  }
  judged_ += 1;
  error_sum_ += error;
  still_error_sum_ += still_error;
  within_ += within ? 1 : 0;
  const double beyond = (1 - options_.range_share) / 2;
  pinball_sum_ += (pinball(beyond, due.reported.low_cores, cores) + pinball(0.5, due.reported.cores, cores) +
                   pinball(1 - beyond, due.reported.high_cores, cores)) /
                  3;
}

void HorizonForecast::forecast(const Seen& seen) {
  Scored::Guesses guesses;
  guesses[kStill] = seen.cores;
  guesses[kGrowth] = std::max(0.0, seen.cores + seen.growth_cores);
  guesses[kHalfGrowth] = std::max(0.0, seen.cores + kFirstGrowth * seen.growth_cores);
  if (seen.of_day_cores) guesses[kByDay] = std::max(0.0, *seen.of_day_cores);
  const double least = kLeastSpread * (1 + seen.cores);
  // Before the first score: between no growth and full growth.
  double cores = *guesses[kHalfGrowth], spread = std::abs(seen.growth_cores) / 4;
  if (scored_.judged()) {
    const Scored::Together together = scored_.together(guesses, least * least, kStill);
    cores = together.value;
    spread = std::sqrt(together.mean_square);
  }
  spread = std::max(spread, least);
  next_ = ExpectedCores{cores, std::max(0.0, cores - range_ * spread), cores + range_ * spread};
  due_.push_back({0, guesses, *next_});
}

void HorizonForecast::step(const Seen& seen, double now_s) {
  if (!(std::isfinite(seen.cores) && seen.cores >= 0 && std::isfinite(seen.growth_cores))) return;
  // Another clock: drop all pending forecasts.
  if (!due_.empty() && due_.back().at_s - options_.ahead_s >= now_s) due_.clear();
  for (; !due_.empty() && due_.front().at_s <= now_s; due_.pop_front())
    if (now_s - due_.front().at_s <= options_.late_s) judge(due_.front(), seen.cores);
  forecast(seen);
  due_.back().at_s = now_s + options_.ahead_s;
  if (due_.size() > options_.most_due) due_.pop_front();
}

HorizonScore HorizonForecast::score() const {
  const double count = std::max(judged_, 1.0);
  return {static_cast<std::uint64_t>(judged_), error_sum_ / count, still_error_sum_ / count, within_ / count,
          pinball_sum_ / count};
}

double HorizonForecast::trust() const {
  if (!(recent_still_error_ > 0) || !(weight_ > 0)) return 0;
  const double better = std::clamp(1 - recent_error_ / recent_still_error_, 0.0, 1.0);
  const double honest = std::clamp((within_weight_ / weight_ - kPoorWithin) / (kGoodWithin - kPoorWithin), 0.0, 1.0);
  return better * honest * std::min(1.0, judged_ / options_.enough);
}

void HorizonForecast::pack(PackWriter& out) const {
  scored_.pack(out);
  for (const double value : {range_, weight_, within_weight_, recent_error_, recent_still_error_, judged_, error_sum_,
                             still_error_sum_, within_, pinball_sum_})
    out.real(value);
}

void HorizonForecast::unpack(PackReader& in) {
  HorizonForecast read(options_);
  read.scored_.unpack(in);
  for (double* value :
       {&read.range_, &read.weight_, &read.within_weight_, &read.recent_error_, &read.recent_still_error_,
        &read.judged_, &read.error_sum_, &read.still_error_sum_, &read.within_, &read.pinball_sum_}) {
    *value = in.real();
    if (*value < 0) in.refuse();
  }
  const bool counts = read.within_weight_ <= read.weight_ && read.within_ <= read.judged_ && read.judged_ < 1e15;
  if (!counts || read.range_ < kLeastWidth || read.range_ > kMostWidth) in.refuse();
  if (in.ok()) *this = std::move(read);
}

}  // namespace wattle::placement
