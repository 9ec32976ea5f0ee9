#include "lab/bench/annealed.hpp"

#include <cassert>
#include <cmath>

#include "sim/world/random.hpp"

namespace wattle::sim::consolidation {

namespace {

double problem_w(const FillProblem& problem, std::size_t i, std::size_t pods, double used_cores) {
  return server_w(problem.servers[i], problem.sleep, pods, used_cores);
}

class Annealing {
 public:
  Annealing(const FillProblem& problem, Placement start, std::uint64_t seed)
      : problem_(problem), placement_(std::move(start)), random_(mix(seed, 0x616e6e65616cULL)) {
    pods_.resize(problem.servers.size());
    used_.assign(problem.servers.size(), 0.0);
    at_.resize(placement_.size());
    for (std::size_t p = 0; p < placement_.size(); ++p) put(p, placement_[p]);
    for (std::size_t i = 0; i < pods_.size(); ++i) watts_.push_back(problem_w(problem, i, pods_[i].size(), used_[i]));
    for (const double each : watts_) now_w_ += each;
    best_ = placement_;
    best_w_ = now_w_;
  }

  Placement run(std::size_t moves) {
    if (placement_.empty() || pods_.size() < 2) return best_;
    // Cools from the watts that one pod may add to a negligible amount.
    const double hot_w = 0.02 * now_w_ / static_cast<double>(pods_.size()) + 1e-9;
    cool(moves / 2, hot_w);
    // Which servers are awake: empty one or shuffle some pods, settle again, keep the result if it is better. Single
    // moves cannot do this, because they would have to climb over idle watts.
    const std::size_t settle = 40 * placement_.size();
    for (std::size_t spent = 0; spent + settle <= moves / 2;) {
      return_to(best_);
      if (random_() % 4 == 0 ? shuffle_some() : empty_one()) {
        cool(settle, 0.1 * hot_w);
        spent += settle;
      } else {
        ++spent;
      }
    }
    return best_;
  }

 private:
  void put(std::size_t p, std::size_t i) {
    placement_[p] = i;
    at_[p] = pods_[i].size();
    pods_[i].push_back(p);
    used_[i] += problem_.demand_cores[p];
  }
  void take(std::size_t p) {
    const std::size_t i = placement_[p];
    const std::size_t last = pods_[i].back();
    pods_[i][at_[p]] = last;
    at_[last] = at_[p];
    pods_[i].pop_back();
    used_[i] -= problem_.demand_cores[p];
  }
  void reckon(std::size_t i) {
    const double watts = problem_w(problem_, i, pods_[i].size(), used_[i]);
    now_w_ += watts - watts_[i];
    watts_[i] = watts;
  }
  bool accept(double change_w) { return change_w <= 0 || uniform(random_) < std::exp(-change_w / heat_w_); }

  void move_one() {
    const std::size_t p = pick(random_, placement_.size()), from = placement_[p], to = pick(random_, pods_.size());
    if (to == from || pods_[to].size() >= problem_.slots[to]) return;
    const double d = problem_.demand_cores[p];
    const double after_w = problem_w(problem_, from, pods_[from].size() - 1, used_[from] - d) +
                           problem_w(problem_, to, pods_[to].size() + 1, used_[to] + d);
    if (!accept(after_w - watts_[from] - watts_[to])) return;
    take(p);
    put(p, to);
    reckon(from);
    reckon(to);
  }

  void swap_two() {
    const std::size_t p = pick(random_, placement_.size()), q = pick(random_, placement_.size());
    const std::size_t a = placement_[p], b = placement_[q];
    if (a == b) return;
    const double d = problem_.demand_cores[p] - problem_.demand_cores[q];
    const double after_w =
        problem_w(problem_, a, pods_[a].size(), used_[a] - d) + problem_w(problem_, b, pods_[b].size(), used_[b] + d);
    if (!accept(after_w - watts_[a] - watts_[b])) return;
    take(p);
    take(q);
    put(p, b);
    put(q, a);
    reckon(a);
    reckon(b);
  }

  void cool(std::size_t moves, double hot_w) {
    for (std::size_t m = 0; m < moves; ++m) {
      if (m % 64 == 0) heat_w_ = hot_w * std::pow(1e-3, static_cast<double>(m) / static_cast<double>(moves));
      if (random_() & 1) {
        move_one();
      } else {
        swap_two();
      }
      if (now_w_ < best_w_ - 1e-9) {
        best_w_ = now_w_;
        best_ = placement_;
      }
    }
  }

  void return_to(const Placement& to) {
    for (std::size_t p = 0; p < to.size(); ++p) {
      if (placement_[p] == to[p]) continue;
      take(p);
      put(p, to[p]);
    }
    for (std::size_t i = 0; i < pods_.size(); ++i) reckon(i);
  }

  bool shuffle_some() {
    for (std::size_t left = 1 + pick(random_, 1 + placement_.size() / 4); left > 0; --left) {
      const std::size_t p = pick(random_, placement_.size()), to = pick(random_, pods_.size());
      if (pods_[to].size() >= problem_.slots[to]) continue;
      take(p);
      put(p, to);
    }
    for (std::size_t i = 0; i < pods_.size(); ++i) reckon(i);
    return true;
  }

  // Moves one server's pods to another, and the rest to awake servers with room. Returns false if there are none to
  // move.
  bool empty_one() {
    const std::size_t from = pick(random_, pods_.size()), first = pick(random_, pods_.size());
    if (pods_[from].empty() || first == from) return false;
    std::size_t to = first;
    for (std::size_t tried = 0; !pods_[from].empty() && tried < pods_.size();) {
      if (to == from || pods_[to].size() >= problem_.slots[to] || (tried > 0 && pods_[to].empty())) {
        to = (to + 1) % pods_.size();
        ++tried;
        continue;
      }
      const std::size_t p = pods_[from].back();
      take(p);
      put(p, to);
    }
    for (std::size_t i = 0; i < pods_.size(); ++i) reckon(i);
    return true;
  }

  const FillProblem& problem_;
  Placement placement_, best_;
  Random random_;
  std::vector<std::vector<std::size_t>> pods_;
  std::vector<std::size_t> at_;  // position of each pod in its server's list
  std::vector<double> used_, watts_;
  double now_w_ = 0, best_w_ = 0, heat_w_ = 0;
};

}  // namespace

FillProblem fill_problem(const Episode& episode) {
  FillProblem problem;
  problem.servers = episode.servers;
  problem.sleep = episode.options.sleep;
  for (std::size_t i = 0; i < episode.servers.size(); ++i)
    problem.slots.push_back(static_cast<std::size_t>(episode.slots(i)));
  for (const Pod& pod : episode.pods) problem.demand_cores.push_back(episode.day->mean_cores[pod.machine]);
  return problem;
}

double placement_w(const FillProblem& problem, const Placement& placement) {
  std::vector<std::size_t> pods(problem.servers.size(), 0);
  std::vector<double> used(problem.servers.size(), 0.0);
  for (std::size_t p = 0; p < placement.size(); ++p) {
    ++pods[placement[p]];
    used[placement[p]] += problem.demand_cores[p];
  }
  double sum_w = 0;
  for (std::size_t i = 0; i < pods.size(); ++i) sum_w += problem_w(problem, i, pods[i], used[i]);
  return sum_w;
}

bool feasible(const FillProblem& problem, const Placement& placement) {
  std::vector<std::size_t> pods(problem.servers.size(), 0);
  for (const std::size_t i : placement)
    if (i >= pods.size() || ++pods[i] > problem.slots[i]) return false;
  return placement.size() == problem.demand_cores.size();
}

Placement anneal(const FillProblem& problem, Placement start, std::size_t moves, std::uint64_t seed) {
  assert(feasible(problem, start));
  return Annealing(problem, std::move(start), seed).run(moves);
}

}  // namespace wattle::sim::consolidation
