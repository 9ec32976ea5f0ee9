#include "provision/requests/harm_watch.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/formatted.hpp"
#include "placement/cluster/pack_fields.hpp"

namespace wattle::placement {
namespace {

constexpr double kHarmDay_s = 86'400;
constexpr std::size_t kMostHarmKills = 64;
constexpr double kLeastControl = 0.02;  // smaller rises of unchanged owners are noise
constexpr double kLeastHarm_s = 5;      // of a mean that counts as known
constexpr std::array<const char*, kHarms> kHarmWords{"were throttled", "waited for CPU", "waited for memory"};

std::string harm_percent(double share) { return fixed(100 * share, 1) + "%"; }

std::string whole_text(double value) { return std::to_string(static_cast<long long>(std::lround(value))); }

std::string worse_text(const char* word, double now, double before, const char* span, double control) {
  std::string text = "pods " + std::string(word) + " for " + harm_percent(now) + " of the time, " +
                     harm_percent(before) + " at most before (" + span + ")";
  if (control > 0) text += "; owners that were not changed rose by " + harm_percent(control);
  return text;
}

}  // namespace

void HarmMean::add(const KnownHarm& shares, double seconds, double now_s) {
  if (!(seconds > 0) || !std::isfinite(now_s)) return;
  if (now_s < at_s_ - 60) *this = HarmMean(time_constant_s_);
  const double kept = at_s_ > 0 ? std::exp(-std::max(0.0, now_s - at_s_) / time_constant_s_) : 0;
  at_s_ = std::max(at_s_, now_s);
  for (std::size_t kind = 0; kind < kHarms; ++kind) {
    sum_s_[kind] *= kept;
    seconds_[kind] *= kept;
    if (!shares[kind] || !std::isfinite(*shares[kind])) continue;
    sum_s_[kind] += std::clamp(*shares[kind], 0.0, 1.0) * seconds;
    seconds_[kind] += seconds;
  }
}

HarmShares HarmMean::mean() const {
  HarmShares mean{};
  for (std::size_t kind = 0; kind < kHarms; ++kind)
    if (seconds_[kind] > 0) mean[kind] = sum_s_[kind] / seconds_[kind];
  return mean;
}

bool HarmMean::known() const { return *std::max_element(seconds_.begin(), seconds_.end()) >= kLeastHarm_s; }

template <class V>
void HarmMean::fields(V& v) {
  v(at_s_);
  v.not_negative(sum_s_, seconds_);
}

void HarmMean::pack(PackWriter& out) const { pack_fields(out, *this); }

void HarmMean::unpack(PackReader& in) {
  FieldReader reader(in);
  fields(reader);
}

void HarmWatch::add(const KnownHarm& shares, double seconds, double now_s) {
  fast_.add(shares, seconds, now_s);
  slow_.add(shares, seconds, now_s);
  hour_.add(shares, seconds, now_s);
  if (peak_from_s_ == 0 || now_s < peak_from_s_ || now_s - peak_from_s_ >= kHarmDay_s) {
    last_peak_ = peak_;
    peak_ = {};
    peak_from_s_ = now_s;
  }
  if (!fast_.known()) return;
  const HarmShares mean = fast_.mean();
  for (std::size_t kind = 0; kind < kHarms; ++kind) peak_[kind] = std::max(peak_[kind], mean[kind]);
}

void HarmWatch::killed(double now_s) {
  if (kills_s_.size() >= kMostHarmKills) kills_s_.erase(kills_s_.begin());
  kills_s_.push_back(now_s);
}

void HarmWatch::move(const WallStep& step) {
  for (HarmMean* mean : {&fast_, &slow_, &hour_}) mean->move(step);
  step.move_s(peak_from_s_);
  for (double& at_s : kills_s_) step.move_s(at_s);
}

template <class V>
void HarmWatch::fields(V& v) {
  v(fast_, slow_, hour_, peak_, last_peak_, peak_from_s_, kills_s_);
}

void HarmWatch::pack(PackWriter& out) const { pack_fields(out, *this); }

void HarmWatch::unpack(PackReader& in) {
  HarmWatch read;
  FieldReader reader(in);
  read.fields(reader);
  if (read.kills_s_.size() > kMostHarmKills) in.refuse();
  if (in.ok()) *this = std::move(read);
}

double HarmWatch::kills_since(double from_s) const {
  return static_cast<double>(
      std::count_if(kills_s_.begin(), kills_s_.end(), [from_s](double at_s) { return at_s >= from_s; }));
}

HarmBefore HarmWatch::before(double now_s) const {
  HarmBefore before{hour(), peak_, kills_since(now_s - kHarmDay_s)};
  for (std::size_t kind = 0; kind < kHarms; ++kind) before.peak[kind] = std::max(before.peak[kind], last_peak_[kind]);
  return before;
}

std::string harm_since(const HarmWatch& now, const HarmBefore& before, const HarmControl& control, double changed_s,
                       double now_s, const HarmLimits& limits) {
  if (const double kills = now.kills_since(changed_s); kills > before.kills)
    return whole_text(kills) + " OOM kills since the change, " + whole_text(before.kills) + " in the day before";
  if (!now.known()) return {};
  const HarmShares fast = now.fast(), slow = now.slow(), hour = now.hour();
  for (std::size_t kind = 0; kind < kHarms; ++kind) {
    // The rise of unchanged owners is above their last hour, which follows the rise. So does the owner's own hour.
    const bool rises = std::max(control.fast[kind], control.slow[kind]) >= kLeastControl;
    const double followed = rises ? std::max(0.0, hour[kind] - before.hour[kind]) : 0;
    const double of_fast = std::max(0.0, control.fast[kind]) + followed;
    const double of_slow = std::max(0.0, control.slow[kind]) + followed;
    if (now_s - changed_s >= limits.fast_after_s && fast[kind] > before.peak[kind] + limits.fast_more + of_fast)
      return worse_text(kHarmWords[kind], fast[kind], before.peak[kind], "half a minute", of_fast);
    if (now_s - changed_s >= limits.slow_after_s && slow[kind] > before.hour[kind] + limits.slow_more + of_slow)
      return worse_text(kHarmWords[kind], slow[kind], before.hour[kind], "five minutes", of_slow);
  }
  return {};
}

}  // namespace wattle::placement
