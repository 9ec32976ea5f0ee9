// The fixed rules: each picks the feasible node with the least cost; ties go to the first.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "placement/fleet.hpp"
#include "placement/planner.hpp"

namespace wattle::placement {

double FleetNode::watts_at(double used) const {
  const double u = allocatable.cpu_cores > 0 ? std::max(0.0, used) / allocatable.cpu_cores : 0.0;
  const double at = std::min(u, 1.0) * static_cast<double>(kCurvePoints - 1);
  const std::size_t below = std::min(static_cast<std::size_t>(at), kCurvePoints - 2);
  const double part = at - static_cast<double>(below);
  const double within_w = watts[below] + part * (watts[below + 1] - watts[below]);
  if (u <= 1) return within_w;
  const double slope_w = std::max(watts.back() - watts.front(), 10 * (watts.back() - watts[kCurvePoints - 2]));
  return within_w + (u - 1) * slope_w;
}

double last_ends_in_s(double mean_life_s, std::size_t pods) {
  constexpr std::size_t kSummed = 128;
  static constexpr auto kSums = [] {
    std::array<double, kSummed + 1> sums{};
    for (std::size_t n = 1; n <= kSummed; ++n) sums[n] = sums[n - 1] + 1 / static_cast<double>(n);
    return sums;
  }();
  if (pods <= kSummed) return mean_life_s * kSums[pods];
  constexpr double kEuler = 0.5772156649015329;
  const auto n = static_cast<double>(pods);
  return mean_life_s * (std::log(n) + kEuler + 1 / (2 * n));
}

KubeNode kube_node(const FleetNode& node) {
  const KubePod room = kube_pod(node.allocatable), taken = kube_pod(node.requested);
  KubeNode out;
  out.allocatable_milli_cpu = room.milli_cpu;
  out.allocatable_memory_bytes = room.memory_bytes;
  out.allocatable_pods = static_cast<std::int64_t>(node.pod_capacity);
  out.requested_milli_cpu = out.nonzero_milli_cpu = taken.milli_cpu;
  out.requested_memory_bytes = out.nonzero_memory_bytes = taken.memory_bytes;
  out.pods = static_cast<std::int64_t>(node.pods);
  return out;
}

bool fits(const FleetNode& node, const Ask& ask) {
  constexpr double kRounding = 1e-9;
  return node.open && node.pods < node.pod_capacity &&
         node.requested.cpu_cores + ask.request.cpu_cores <= node.allocatable.cpu_cores * (1 + kRounding) &&
         node.requested.memory_bytes + ask.request.memory_bytes <= node.allocatable.memory_bytes * (1 + kRounding);
}

double added_w(const Fleet& fleet, std::size_t i, const Ask& ask) {
  const FleetNode& node = fleet.nodes[i];
  const double before_w = node.sleeps ? node.sleep_w : node.watts_at(node.used_cores);
  const double wake_w = node.sleeps && fleet.hold_s > 0 ? node.wake_j / fleet.hold_s : 0;
  return node.watts_at(node.used_cores + ask.demand_cores) - before_w + wake_w;
}

double amortised_w(const FleetNode& node, const Ask& ask) {
  double slots = static_cast<double>(node.pod_capacity);
  if (ask.request.cpu_cores > 0) slots = std::min(slots, node.allocatable.cpu_cores / ask.request.cpu_cores);
  if (ask.request.memory_bytes > 0) slots = std::min(slots, node.allocatable.memory_bytes / ask.request.memory_bytes);
  return node.idle_w() / std::max(1.0, std::floor(slots + 1e-9)) + node.watts_at(node.used_cores + ask.demand_cores) -
         node.watts_at(node.used_cores);
}

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

// The feasible node of least cost(i).
template <class Cost>
std::optional<std::size_t> least(const Fleet& fleet, const Ask& ask, Cost&& cost) {
  std::optional<std::size_t> best;
  double least_cost = 0;
  for (std::size_t i = 0; i < fleet.nodes.size(); ++i) {
    if (!fits(fleet.nodes[i], ask)) continue;
    const double here = cost(i);
    if (best && !(here < least_cost)) continue;
    best = i;
    least_cost = here;
  }
  return best;
}

class LeastCost : public Rule {
 public:
  std::optional<std::size_t> choose(const Fleet& fleet, const Ask& ask) override {
    return least(fleet, ask, [&](std::size_t i) { return cost(fleet, i, ask); });
  }
};

class MostAllocated final : public LeastCost {
 public:
  std::string_view name() const override { return "most_allocated"; }
  double cost(const Fleet& fleet, std::size_t i, const Ask& ask) override {
    return -static_cast<double>(most_allocated(kube_node(fleet.nodes[i]), kube_pod(ask.request)));
  }
};

class RoundRobin final : public Rule {
 public:
  std::string_view name() const override { return "round_robin"; }
  std::optional<std::size_t> choose(const Fleet& fleet, const Ask& ask) override {
    for (std::size_t k = 0; k < fleet.nodes.size(); ++k) {
      const std::size_t i = (next_ + k) % fleet.nodes.size();
      if (!fits(fleet.nodes[i], ask)) continue;
      next_ = i + 1;
      return i;
    }
    return std::nullopt;
  }

 private:
  std::size_t next_ = 0;
};

class RandomRule final : public Rule {
 public:
  explicit RandomRule(std::uint64_t seed) : random_(seed) {}
  std::string_view name() const override { return "random"; }
  std::optional<std::size_t> choose(const Fleet& fleet, const Ask& ask) override {
    return least(fleet, ask, [&](std::size_t) { return static_cast<double>(random_() >> 11); });
  }

 private:
  std::mt19937_64 random_;
};

class Greedy final : public LeastCost {
 public:
  std::string_view name() const override { return "greedy"; }
  double cost(const Fleet& fleet, std::size_t i, const Ask& ask) override { return added_w(fleet, i, ask); }
};

class Amortised final : public LeastCost {
 public:
  std::string_view name() const override { return "amortised"; }
};

class Peaks final : public LeastCost {
 public:
  std::string_view name() const override { return "peaks"; }
  double cost(const Fleet& fleet, std::size_t i, const Ask& ask) override {
    if (fits_.size() != fleet.nodes.size() || revision_ != fleet.revision) {
      fits_.clear();
      for (const FleetNode& node : fleet.nodes) fits_.push_back(fit_exponential(node.watts));
      revision_ = fleet.revision;
    }
    const FleetNode& node = fleet.nodes[i];
    const double before = node.used_cores / node.allocatable.cpu_cores;
    return fits_[i].watts_at(before + ask.demand_cores / node.allocatable.cpu_cores) - fits_[i].watts_at(before);
  }

 private:
  std::vector<Exponential> fits_;
  std::uint64_t revision_ = 0;
};

}  // namespace

Result<std::unique_ptr<Rule>> make_rule(std::string_view name, std::uint64_t seed) {
  if (name == "most_allocated") return std::make_unique<MostAllocated>();
  if (name == "round_robin") return std::make_unique<RoundRobin>();
  if (name == "random") return std::make_unique<RandomRule>(seed);
  if (name == "greedy") return std::make_unique<Greedy>();
  if (name == "amortised") return std::make_unique<Amortised>();
  if (name == "peaks") return std::make_unique<Peaks>();
  if (name == "planner") return std::make_unique<Planner>(PlannerOptions{});
  return fail(Errc::not_found, "rule " + std::string(name), "there is no such rule",
              "most_allocated, round_robin, random, greedy, amortised, peaks or planner");
}

}  // namespace wattle::placement
