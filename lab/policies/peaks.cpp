// peaks: least added watts on exponential power curves, as PEAKS of kubernetes-sigs/scheduler-plugins fits them.
#include <cmath>
#include <limits>

#include "lab/policies/makers.hpp"
#include "placement/decide/policies/cost.hpp"

namespace wattle::placement {

double Exponential::watts_at(double utilisation) const { return base_w + k1_w * std::exp(k2 * utilisation); }

Exponential fit_exponential(const std::array<double, kCurvePoints>& watts) {
  // For each k2 the other two follow by linear least squares; k2 is searched on a grid, then refined around the best.
  Exponential best;
  double best_error = std::numeric_limits<double>::infinity();
  const auto attempt = [&](double k2) {
    if (std::abs(k2) < 1e-3) k2 = 1e-3;  // nearly a straight line
    double sx = 0, sy = 0, sxx = 0, sxy = 0;
    for (std::size_t i = 0; i < kCurvePoints; ++i) {
      const double x = std::exp(k2 * static_cast<double>(i) / 10);
      sx += x;
      sy += watts[i];
      sxx += x * x;
      sxy += x * watts[i];
    }
    const double n = kCurvePoints;
    const double k1 = (n * sxy - sx * sy) / (n * sxx - sx * sx);
    const Exponential fit{(sy - k1 * sx) / n, k1, k2};
    double error = 0;
    for (std::size_t i = 0; i < kCurvePoints; ++i) {
      const double e = fit.watts_at(static_cast<double>(i) / 10) - watts[i];
      error += e * e;
    }
    if (error < best_error) {
      best_error = error;
      best = fit;
    }
  };
  for (int i = -40; i <= 40; ++i) attempt(0.25 * i);
  for (double step = 0.125; step > 1e-3; step /= 2) {
    const double middle = best.k2;
    attempt(middle - step);
    attempt(middle + step);
  }
  return best;
}

namespace {

class Peaks final : public CostPolicy {
 public:
  using CostPolicy::CostPolicy;

 private:
  double cost(PolicyContext& context, std::size_t row) override {
    const Fleet& fleet = context.fleet();
    const std::size_t i = context.node(row);
    if (fits_.size() != fleet.nodes.size() || revision_ != fleet.revision) {
      fits_.clear();
      for (const FleetNode& node : fleet.nodes) fits_.push_back(fit_exponential(node.watts));
      revision_ = fleet.revision;
    }
    const FleetNode& node = fleet.nodes[i];
    const double before = node.used_cores / node.allocatable.cpu_cores;
    return fits_[i].watts_at(before + context.ask().demand_cores / node.allocatable.cpu_cores) -
           fits_[i].watts_at(before);
  }

  std::vector<Exponential> fits_;
  std::uint64_t revision_ = 0;
};

}  // namespace

MadePolicy make_peaks(const PolicyInfo& info, const NetworkOptions&) { return std::make_unique<Peaks>(info); }

}  // namespace wattle::placement
