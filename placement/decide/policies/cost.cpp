// cost: policies that each pick the feasible node of least cost; ties go to the first.
#include "placement/decide/policies/cost.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "placement/decide/policies/makers.hpp"
#include "placement/worth/objective.hpp"

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

void CostPolicy::score(PolicyContext& context, std::span<double> values) {
  const auto chosen = choose(context);
  const Fleet& fleet = context.fleet();
  double best = -INFINITY, worst = INFINITY;
  for (const std::size_t row : context.feasible()) {
    const double here = cost(fleet, context.node(row), context.ask());
    values[row] = std::isfinite(here) ? -here : -1e9;
    best = std::max(best, values[row]);
    worst = std::min(worst, values[row]);
  }
  constexpr double kSame = 1e-6;  // relative to the costs: rounding
  if (!plans() && best - worst <= kSame * std::max(1.0, std::abs(best))) return;
  // The chosen node wins by a margin above rounding. Without a choice (sizes outside the plan) the cost decides.
  for (const std::size_t row : context.feasible())
    if (chosen && context.node(row) == *chosen) values[row] = best + std::max(1e-3, 0.01 * (best - worst));
}

std::optional<std::size_t> CostPolicy::choose(PolicyContext& context) {
  const Fleet& fleet = context.fleet();
  const PodEstimate& ask = context.ask();
  std::optional<std::size_t> best;
  double least_cost = 0;
  for (std::size_t i = 0; i < fleet.nodes.size(); ++i) {
    if (!fits(fleet.nodes[i], ask)) continue;
    const double here = cost(fleet, i, ask);
    if (best && !(here < least_cost)) continue;
    best = i;
    least_cost = here;
  }
  return best;
}

std::optional<std::size_t> PlannerPolicy::choose(PolicyContext& context) {
  return planner_.choose(context.fleet(), context.ask());
}

namespace {

class Amortised final : public CostPolicy {
 public:
  using CostPolicy::CostPolicy;
};

class Greedy final : public CostPolicy {
 public:
  using CostPolicy::CostPolicy;

 private:
  double cost(const Fleet& fleet, std::size_t i, const PodEstimate& ask) override {
    return added_cost_w(fleet, i, ask);
  }
};

class Peaks final : public CostPolicy {
 public:
  using CostPolicy::CostPolicy;

 private:
  double cost(const Fleet& fleet, std::size_t i, const PodEstimate& ask) override {
    if (fits_.size() != fleet.nodes.size() || revision_ != fleet.revision) {
      fits_.clear();
      for (const FleetNode& node : fleet.nodes) fits_.push_back(fit_exponential(node.watts));
      revision_ = fleet.revision;
    }
    const FleetNode& node = fleet.nodes[i];
    const double before = node.used_cores / node.allocatable.cpu_cores;
    return fits_[i].watts_at(before + ask.demand_cores / node.allocatable.cpu_cores) - fits_[i].watts_at(before);
  }

  std::vector<Exponential> fits_;
  std::uint64_t revision_ = 0;
};

}  // namespace

MadePolicy make_planner_policy(const PolicyInfo& info, const NetworkOptions&) {
  return std::make_unique<PlannerPolicy>(info);
}
MadePolicy make_amortised(const PolicyInfo& info, const NetworkOptions&) { return std::make_unique<Amortised>(info); }
MadePolicy make_greedy(const PolicyInfo& info, const NetworkOptions&) { return std::make_unique<Greedy>(info); }
MadePolicy make_peaks(const PolicyInfo& info, const NetworkOptions&) { return std::make_unique<Peaks>(info); }

}  // namespace wattle::placement
