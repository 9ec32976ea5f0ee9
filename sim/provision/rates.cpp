#include "sim/provision/rates.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "sim/world/random.hpp"

namespace wattle::sim::provision {
namespace {

constexpr double kMean = 130;

}  // namespace

std::vector<RateTrace> synthetic_rates(std::uint64_t seed, std::size_t seconds) {
  std::vector<RateTrace> traces{{"diurnal", {}}, {"noisy", {}}, {"bursty", {}}, {"step", {}}};
  Random random(mix(seed, 0x7261746573ULL));
  const double turn = uniform(random) * 2 * std::numbers::pi;
  double level = 0, burst = 1, burst_aim = 1;
  std::size_t until = 0;
  for (std::size_t t = 0; t < seconds; ++t) {
    const double phase = 2 * std::numbers::pi * static_cast<double>(t) / 3600.0 + turn;
    const auto noisy = [&](double rate, double ratio) { return std::max(0.0, rate * (1 + ratio * normal(random))); };
    traces[0].rates_rps.push_back(noisy(kMean * (1 + 0.3 * std::sin(phase) + 0.08 * std::sin(5 * phase)), 0.02));
    level += -level / 60 + 0.04 * normal(random);
    traces[1].rates_rps.push_back(noisy(kMean * std::max(0.3, 1 + 0.5 * level), 0.2));
    if (t >= until) {
      burst_aim = burst_aim > 1 ? 1 : 1.5 + 1.5 * uniform(random);
      until = t + static_cast<std::size_t>(exponential(random, burst_aim > 1 ? 90 : 300)) + 10;
    }
    burst += (burst_aim - burst) / 8;  // half of the way within six seconds
    traces[2].rates_rps.push_back(noisy(kMean * 0.7 * burst, 0.05));
    traces[3].rates_rps.push_back(t % 1200 >= 600 && t % 1200 < 900 ? 2.0 * kMean : 0.5 * kMean);
  }
  return traces;
}

}  // namespace wattle::sim::provision
