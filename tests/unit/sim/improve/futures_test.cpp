// futures: what is drawn anew is what nobody knew when it was decided, and nothing else.
#include "sim/improve/futures.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "sim/improve/rollout.hpp"
#include "tests/unit/sim/scenarios/consolidation.hpp"

namespace wattle::sim::consolidation {
namespace {

Episode short_day(ClusterModel cluster_model) {
  Options options;
  options.nodes = 4;
  options.sleep = options.churn = true;
  options.cluster_model = cluster_model;
  options.life_s = 900;
  options.warm_s = options.measure_s = 3600;
  return make_episode(data(), options, 3);
}

// All pods before this one placed as the planner would.
Cluster played_until(const Episode& episode, std::size_t pod) {
  Cluster cluster(episode);
  FleetChooser planner;
  for (std::size_t p = 0; p < pod; ++p) {
    cluster.advance_to(episode.pods[p].arrives_s);
    if (const auto node = planner.choose(cluster.fleet(), cluster.ask(p))) cluster.place(p, *node);
  }
  cluster.advance_to(episode.pods[pod].arrives_s);
  return cluster;
}

bool same(const Pod& a, const Pod& b) {
  return a.app == b.app && a.machine == b.machine && a.arrives_s == b.arrives_s && a.life_s == b.life_s;
}

TEST_CASE(
    "in another future pods of the same applications come at other times, and those that ran had ended or live on") {
  for (const ClusterModel cluster_model : {ClusterModel::pods, ClusterModel::truth}) {
    const Episode episode = short_day(cluster_model);
    const std::size_t pod = episode.pods.size() / 2;
    const double now_s = episode.pods[pod].arrives_s;
    const Episode other = another_future(episode, pod, 1);
    std::size_t ended = 0, lives_changed = 0;
    for (std::size_t p = 0; p < pod; ++p) {
      const Pod &was = episode.pods[p], &is = other.pods[p];
      if (was.arrives_s + was.life_s <= now_s) {
        ++ended;
        CHECK(same(was, is));
        continue;
      }
      CHECK(is.app == was.app);
      CHECK(is.machine == was.machine);  // what it has used is known
      CHECK(is.arrives_s == was.arrives_s);
      CHECK(is.arrives_s + is.life_s > now_s);
      lives_changed += is.life_s != was.life_s ? 1 : 0;
    }
    CHECK(ended > 0);
    CHECK((lives_changed > 0) == (cluster_model == ClusterModel::pods));  // an oracle is told when they end
    CHECK(other.pods[pod].arrives_s == now_s);
    CHECK(other.pods[pod].app == episode.pods[pod].app);
    CHECK(std::is_sorted(other.pods.begin(), other.pods.end(),
                         [](const Pod& a, const Pod& b) { return a.arrives_s < b.arrives_s; }));
    CHECK(other.pods.back().arrives_s < episode.end_s);
    const auto to_come = static_cast<double>(episode.pods.size() - pod);
    CHECK(static_cast<double>(other.pods.size() - pod) == doctest::Approx(to_come).epsilon(0.3));
    CHECK_FALSE(same(other.pods[pod + 1], episode.pods[pod + 1]));
    // Each number is a future of its own, always the same one, and 0 is what happened.
    CHECK(same(another_future(episode, pod, 1).pods[pod + 1], other.pods[pod + 1]));
    CHECK_FALSE(same(another_future(episode, pod, 2).pods[pod + 1], other.pods[pod + 1]));
    CHECK(same(another_future(episode, pod, 0).pods[pod + 1], episode.pods[pod + 1]));
  }
}

TEST_CASE("a cluster in another future gets the same reports, and its pods end when they do there") {
  const Episode episode = short_day(ClusterModel::pods);
  const std::size_t pod = episode.pods.size() / 2;
  const Cluster now = played_until(episode, pod);
  const Episode future = another_future(episode, pod, 1);
  const Cluster there = now.in(future);
  std::vector<std::size_t> ran;
  for (std::size_t i = 0; i < now.fleet().nodes.size(); ++i) {
    CHECK(there.fleet().nodes[i].pods == now.fleet().nodes[i].pods);
    CHECK(there.fleet().nodes[i].used_cores == now.fleet().nodes[i].used_cores);
  }
  for (std::size_t p = 0; p < pod; ++p)
    if (now.node_of()[p] != Cluster::kNowhere) ran.push_back(p);
  REQUIRE(ran.size() > 5);
  const auto runs_at = [&](std::size_t p, double when_s) {
    Cluster then = now.in(future);
    then.advance_to(when_s);
    return then.node_of()[p] != Cluster::kNowhere;
  };
  for (const std::size_t p : ran) {
    const double ends_s = future.pods[p].arrives_s + future.pods[p].life_s;
    CHECK(runs_at(p, episode.end_s) == (ends_s >= episode.end_s));
    if (ends_s >= episode.end_s) continue;
    CHECK(runs_at(p, ends_s - 1e-3));
    CHECK_FALSE(runs_at(p, ends_s + 1e-3));
  }
  CHECK(now.fleet().now_s == episode.pods[pod].arrives_s);  // it went on in a copy
}

TEST_CASE("judged by several futures a choice costs the mean of what it costs in each, the same ones for all") {
  for (const ClusterModel cluster_model : {ClusterModel::pods, ClusterModel::imitated}) {
    const Episode episode = short_day(cluster_model);
    const std::size_t pod = episode.pods.size() / 2;
    const Cluster now = played_until(episode, pod);
    const FleetChooser planner;
    std::vector<std::size_t> fit;
    for (std::size_t i = 0; i < now.fleet().nodes.size(); ++i)
      if (placement::fits(now.fleet().nodes[i], now.ask(pod))) fit.push_back(i);
    REQUIRE(fit.size() > 1);
    const std::vector<std::size_t> two{fit.front(), fit.back()};
    const auto more_w = [&](const Episode& future, const Cluster& there, std::size_t futures) {
      const auto regrets_w = rollout_regrets_w(future, there, pod, two, planner, 1800, futures);
      return regrets_w[0] - regrets_w[1];
    };
    double sum_w = more_w(episode, now, 1);
    bool differ = false;
    for (std::size_t k = 1; k < 3; ++k) {
      const Episode future = another_future(episode, pod, k);
      const double here_w = more_w(future, now.in(future), 1);
      differ = differ || here_w != more_w(episode, now, 1);
      sum_w += here_w;
    }
    CHECK(differ);
    CHECK(more_w(episode, now, 3) == doctest::Approx(sum_w / 3));
  }
}

}  // namespace
}  // namespace wattle::sim::consolidation
