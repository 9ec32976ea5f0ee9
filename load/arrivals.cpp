#include "load/arrivals.hpp"

#include <utility>

namespace wattle::load {

Arrivals::Arrivals(std::vector<double> requests, double step_s, Spacing spacing, std::uint64_t seed)
    : requests_(std::move(requests)),
      step_s_(step_s),
      spacing_(spacing),
      random_(seed),
      length_(from_seconds(step_s * static_cast<double>(requests_.size()))),
      wanted_(spacing == Spacing::even ? 0.5 : stats::exponential(random_, 1)) {}

Arrivals Arrivals::constant(double rate_rps, Duration length, Spacing spacing, std::uint64_t seed) {
  return {{rate_rps * seconds(length)}, seconds(length), spacing, seed};
}

Arrivals Arrivals::of_trace(const RateTrace& trace, double speed, Spacing spacing, std::uint64_t seed) {
  return {trace.rates_rps, 1 / speed, spacing, seed};
}

std::optional<Duration> Arrivals::next() {
  while (step_ < requests_.size() && before_ + requests_[step_] <= wanted_) before_ += requests_[step_++];
  if (step_ == requests_.size()) return std::nullopt;
  const double part = (wanted_ - before_) / requests_[step_];
  const Duration due = from_seconds((static_cast<double>(step_) + part) * step_s_);
  if (due >= length_) return std::nullopt;
  wanted_ += spacing_ == Spacing::even ? 1 : stats::exponential(random_, 1);
  return due;
}

}  // namespace wattle::load
