#include "provision/requests/request_rule.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "placement/cluster/pack_fields.hpp"

namespace wattle::placement {
namespace {

constexpr double kLongestPause_s = 120;  // between two readings; a longer pause does not count as observed
constexpr double kKilledFactor = 1.2;    // as VPA does
constexpr double kSeenWhole = 0.95;      // of the suggestion: a pod killed above it was limited by the suggestion
constexpr double kUnseen = 1.02;         // assumed need beyond the limit, at least
constexpr double kMostCores = 1e6, kMostBytes = 1e18;
constexpr stats::DecayOptions kMemoryBuckets{.first = 1 << 20, .growth = 1.05, .half_life_s = 0, .buckets = 260};

stats::DecayOptions with_half_life(stats::DecayOptions options, double half_life_s) {
  options.half_life_s = half_life_s;
  return options;
}

// Packs only the buckets that are not empty.
void pack_histogram(const stats::DecayedHistogram& histogram, PackWriter& out) {
  const auto weights = histogram.weights();
  out.real(histogram.as_of_s());
  out.word(static_cast<std::uint64_t>(std::count_if(weights.begin(), weights.end(), [](double w) { return w > 0; })));
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (!(weights[i] > 0)) continue;
    out.word(i);
    out.real(weights[i]);
  }
}

void unpack_histogram(PackReader& in, stats::DecayedHistogram& histogram) {
  const double as_of_s = in.real();
  std::vector<double> weights(histogram.weights().size());
  for (std::size_t left = in.count(16); left > 0 && in.ok(); --left) {
    const std::uint64_t at = in.word();
    const double weight = in.real();
    if (at >= weights.size()) return in.refuse();
    weights[static_cast<std::size_t>(at)] = weight;
  }
  if (in.ok() && !histogram.restore(as_of_s, weights)) in.refuse();
}

double at_least_zero(PackReader& in) {
  const double value = in.real();
  if (value < 0) in.refuse();
  return value;
}

}  // namespace

double needed_cores(const PodUse& use) {
  const double waited = use.waited_ratio ? *use.waited_ratio : use.throttled_ratio.value_or(0);
  return use.cores * (1 + (std::isfinite(waited) ? std::clamp(waited, 0.0, 1.0) : 0));
}

double needed_bytes(const PodMemory& memory) {
  if (memory.killed) return memory.bytes * kKilledFactor;
  return memory.pressed ? memory.bytes : memory.bytes - std::min(memory.cache_bytes, memory.bytes);
}

double floor_of(double suggested, double original, bool shrink_allowed) {
  return shrink_allowed ? suggested : std::max(suggested, original);
}

void RequestTrack::look(double wanted, double original, double now_s, bool may_raise, bool may_lower, double hold_s,
                        double dead_ratio) {
  if (!value_) {
    if (!may_raise) return;
    value_ = original > 0 ? original : wanted;
  }
  if (wanted > *value_) {
    if (may_raise) value_ = wanted;
    low_since_s_.reset();
    return;
  }
  if (wanted >= *value_ * (1 - dead_ratio)) {
    low_since_s_.reset();
    return;
  }
  // A clock that was set back restarts the time.
  if (!low_since_s_ || now_s < *low_since_s_) {
    low_since_s_ = now_s;
    low_most_ = 0;
  }
  low_most_ = std::max(low_most_, wanted);
  if (!may_lower || now_s - *low_since_s_ < hold_s) return;
  value_ = low_most_;
  low_since_s_.reset();
}

template <class V>
void RequestTrack::fields(V& v) {
  v(value_, low_since_s_);
  v.not_negative(low_most_);
}

void RequestTrack::pack(PackWriter& out) const { pack_fields(out, *this); }

void RequestTrack::unpack(PackReader& in) {
  FieldReader reader(in);
  fields(reader);
}

RequestRule::RequestRule(RequestOptions options)
    : options_(options),
      cpu_(with_half_life({}, options.cpu_half_life_s)),
      memory_(with_half_life(kMemoryBuckets, options.memory_half_life_s)) {}

void RequestRule::add_cpu(double needed, double seconds, double now_s) {
  if (!(needed >= 0 && needed <= kMostCores && seconds > 0)) return;
  const double load =
      options_.load_exponent == 0 ? 1 : std::pow(std::max(needed, options_.least_cores), options_.load_exponent);
  if (!cpu_.add(needed, seconds * load, now_s)) return;
  daily_.add(needed, options_.cpu_share, now_s - seconds / 2);
  // Several pods may report at the same time.
  if (now_s > last_contact_s_ && last_contact_s_ > 0) observed_s_ += std::min(now_s - last_contact_s_, kLongestPause_s);
  last_contact_s_ = now_s;
}

void RequestRule::add_memory(double needed, double now_s, bool killed) {
  if (!(needed > 0 && needed <= kMostBytes) || !memory_.add(needed, 1, now_s)) return;
  const double seen = killed ? needed / kKilledFactor : needed;
  const bool stopped = killed && seen >= kSeenWhole * memory_track_.value().value_or(seen);
  rises_.add(stopped ? seen * kUnseen : needed, now_s);
  lasting_.add_needed(needed, now_s);
  if (!killed) return;
  killed_bytes_ = std::max(needed, is_held(now_s) ? killed_bytes_ : 0);
  killed_s_ = now_s;
  looked_s_ = 0;  // repeated OOM kills trigger an immediate evaluation
}

std::optional<double> RequestRule::risen_bytes() const { return rises_.wanted(options_.rises_after_days); }

// Ignores a kill in the future, after a clock was set back.
bool RequestRule::is_held(double now_s) const {
  const double hold_s = risen_bytes() ? options_.risen_kill_hold_s : options_.kill_hold_s;
  return killed_bytes_ > 0 && now_s >= killed_s_ && now_s - killed_s_ < hold_s;
}

std::optional<double> RequestRule::wanted_cores() const {
  if (cpu_.empty()) return std::nullopt;
  const auto daily = daily_.wanted(options_.cpu_share, options_.daily_after_days, last_contact_s_);
  return std::max(options_.least_cores, daily ? *daily : cpu_.quantile(options_.cpu_share));
}

std::optional<double> RequestRule::wanted_bytes() const {
  if (memory_.empty()) return std::nullopt;
  const double held = is_held(std::max(memory_.as_of_s(), last_contact_s_)) ? killed_bytes_ : 0;
  const auto risen = risen_bytes();
  return std::max({options_.least_bytes, held,
                   risen ? *risen : memory_.quantile(options_.memory_share) * (1 + options_.memory_margin_ratio)});
}

std::optional<double> RequestRule::lasting_cores() const {
  if (!cpu_cores()) return std::nullopt;
  return std::max(*cpu_cores(), lasting_.request().cpu_cores);
}

std::optional<double> RequestRule::lasting_bytes() const {
  if (!memory_bytes()) return std::nullopt;
  return std::max(*memory_bytes(), lasting_.request().memory_bytes);
}

double RequestRule::raise_needs_s() const { return std::max(0.0, options_.raise_after_s - observed_s_); }
double RequestRule::lower_needs_s() const { return std::max(0.0, options_.lower_after_s - observed_s_); }

bool RequestRule::look(const Resources& original, double now_s) {
  if (now_s >= looked_s_ && now_s - looked_s_ < options_.every_s) return false;
  looked_s_ = now_s;
  const bool may_raise = raise_needs_s() == 0, may_lower = lower_needs_s() == 0;
  if (const auto wanted = wanted_cores())
    cpu_track_.look(*wanted, original.cpu_cores, now_s, may_raise, may_lower, options_.hold_s, options_.dead_ratio);
  if (const auto wanted = wanted_bytes())
    memory_track_.look(*wanted, original.memory_bytes, now_s, may_raise, may_lower, options_.hold_s, 0);
  if (may_raise) lasting_.add_wanted({wanted_cores().value_or(0), wanted_bytes().value_or(0)}, now_s);
  return true;
}

void RequestRule::pack(PackWriter& out) const {
  for (const double value : {observed_s_, last_contact_s_, looked_s_}) out.real(value);
  pack_histogram(cpu_, out);
  pack_histogram(memory_, out);
  cpu_track_.pack(out);
  memory_track_.pack(out);
  out.real(killed_bytes_);
  out.real(killed_s_);
  daily_.pack(out);
  rises_.pack(out);
  lasting_.pack(out);
}

void RequestRule::unpack(PackReader& in) {
  RequestRule read(options_);
  for (double* value : {&read.observed_s_, &read.last_contact_s_, &read.looked_s_}) *value = at_least_zero(in);
  unpack_histogram(in, read.cpu_);
  unpack_histogram(in, read.memory_);
  read.cpu_track_.unpack(in);
  read.memory_track_.unpack(in);
  for (double* value : {&read.killed_bytes_, &read.killed_s_}) *value = at_least_zero(in);
  read.daily_.unpack(in);
  read.rises_.unpack(in);
  read.lasting_.unpack(in);
  if (in.ok()) *this = std::move(read);
}

}  // namespace wattle::placement
