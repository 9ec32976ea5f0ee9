// pair_excess and pair_cost: who slows whom, learned from what pods waited, and what it costs to put them together.
#include "placement/pair_excess.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "placement/cluster_model.hpp"
#include "placement/pair_cost.hpp"
#include "placement/paired_choices.hpp"
#include "placement/paired_simulation.hpp"
#include "placement/policies/network.hpp"
#include "tests/unit/placement/paired_world.hpp"
#include "tests/unit/placement/views.hpp"

namespace wattle::placement {
namespace {

constexpr double kReading_s = 5;
constexpr double kLost = 1.0 / 3;  // of the time of a pod that takes half as long again

// Nodes on which pods of `apps` applications come and go; each disturbs some of the others.
class DisturbedWorld {
 public:
  DisturbedWorld(std::uint64_t seed, AppId apps, double share) : random_(seed), apps_(apps) {
    for (AppId a = 1; a <= apps; ++a)
      for (AppId b = 1; b < a; ++b)
        if (std::uniform_real_distribution<double>(0, 1)(random_) < share) {
          disturb_.insert({a, b});
          disturb_.insert({b, a});
        }
  }
  bool disturb(AppId a, AppId b) const { return disturb_.contains({a, b}); }
  // For so long everybody runs beside others, anew every ten minutes.
  void live(PairExcess& pairs, double for_s, double noise, double everybody = 0) {
    constexpr double kStay_s = 600;
    for (double at_s = 0; at_s < for_s; at_s += kStay_s) {
      for (int node = 0; node < 10; ++node) {
        std::set<AppId> there;
        while (there.size() < 5) there.insert(1 + random_() % apps_);
        const std::vector<AppId> all(there.begin(), there.end());
        for (const AppId app : all) {
          std::vector<AppId> beside;
          std::copy_if(all.begin(), all.end(), std::back_inserter(beside), [&](AppId b) { return b != app; });
          const bool slowed = std::any_of(beside.begin(), beside.end(), [&](AppId b) { return disturb(app, b); });
          for (double s = 0; s < kStay_s; s += kReading_s)
            pairs.observe(
                app, beside,
                std::max(0.0, (slowed ? kLost : everybody) + noise * std::normal_distribution<double>(0, 1)(random_)),
                kReading_s);
        }
      }
    }
  }
  // Mean of what is expected of the pairs that disturb each other, and of the others.
  std::pair<double, double> expected(const PairExcess& pairs) const {
    double guilty = 0, innocent = 0, guilty_n = 0, innocent_n = 0;
    for (AppId a = 1; a <= apps_; ++a)
      for (AppId b = 1; b <= apps_; ++b) {
        if (a == b) continue;
        (disturb(a, b) ? guilty : innocent) += pairs.expected(a, b);
        (disturb(a, b) ? guilty_n : innocent_n) += 1;
      }
    return {guilty / guilty_n, innocent / innocent_n};
  }

 private:
  std::mt19937_64 random_;
  AppId apps_;
  std::set<std::pair<AppId, AppId>> disturb_;
};

TEST_CASE("pods that wait for nobody teach nothing, and cost no entries") {
  PairExcess pairs;
  const std::vector<AppId> beside{2, 3};
  for (int k = 0; k < 1000; ++k) CHECK(pairs.observe(1, beside, 0.04, kReading_s));
  CHECK(pairs.pairs() == 0);
  CHECK(pairs.expected(1, beside) == 0);
  for (const double bad : {-0.1, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    CHECK_FALSE(pairs.observe(1, beside, bad, kReading_s));
    CHECK_FALSE(pairs.observe(1, beside, 0.3, bad));
  }
  CHECK_FALSE(pairs.observe(0, beside, 0.3, kReading_s));
  CHECK(pairs.pairs() == 0);
}

TEST_CASE("one reading is shrunk to nothing; an hour is believed") {
  PairExcess pairs;
  const std::vector<AppId> beside{2};
  pairs.observe(1, beside, 0.3, kReading_s);
  CHECK(pairs.expected(1, 2) < 0.01);
  pairs.observe(1, {}, 0, kReading_s);  // alone it waits for nobody
  for (int k = 0; k < 720; ++k) {
    pairs.observe(1, beside, 0.3, kReading_s);
    pairs.observe(1, {}, 0, kReading_s);
  }
  CHECK(pairs.expected(1, 2) == doctest::Approx(0.28).epsilon(0.05));
  CHECK(pairs.expected(2, 1) == 0);  // nobody told of the other one
  CHECK(pairs.expected(1, 3) == 0);
}

TEST_CASE("of applications that are mixed those are blamed that disturb each other, and bystanders are not") {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    DisturbedWorld world(seed, 12, 0.2);
    PairExcess pairs;
    world.live(pairs, 12 * 3600, 0.02);
    const auto [guilty, innocent] = world.expected(pairs);
    CHECK(guilty > 0.2);
    CHECK(guilty < kLost + 0.02);
    CHECK(innocent < 0.02);
  }
}

TEST_CASE("an application that waits whoever is there is no reason to blame its neighbours") {
  PairExcess pairs;
  std::mt19937_64 random(5);
  for (int k = 0; k < 5000; ++k) {
    const std::vector<AppId> beside{2 + random() % 8, 10 + random() % 8};
    pairs.observe(1, beside, 0.4, kReading_s);
  }
  double worst = 0;
  for (AppId b = 2; b < 18; ++b) worst = std::max(worst, pairs.expected(1, b));
  CHECK(worst < 0.1);
}

TEST_CASE("what has changed is learned anew") {
  DisturbedWorld before(7, 12, 0.2), after(8, 12, 0.2);
  PairExcess pairs;
  before.live(pairs, 12 * 3600, 0.02);
  after.live(pairs, 12 * 3600, 0.02);
  const auto [guilty, innocent] = after.expected(pairs);
  CHECK(guilty > 0.2);
  CHECK(innocent < 0.03);
}

TEST_CASE("pairs are bounded, and those that were seen last are kept") {
  PairExcess pairs({64, 300, 3600});
  for (AppId app = 1; app <= 1000; ++app) {
    const std::vector<AppId> beside{app + 1, app + 2};
    for (int k = 0; k < 200; ++k) pairs.observe(app, beside, 0.3, kReading_s);
    for (int k = 0; k < 50; ++k) pairs.observe(app, {}, 0, kReading_s);
    CHECK(pairs.pairs() <= 64);
  }
  CHECK(pairs.expected(1000, 1001) > 0.1);
  CHECK(pairs.expected(1, 2) == 0);
  // More neighbours than places.
  std::vector<AppId> many;
  for (AppId b = 2; b < 500; ++b) many.push_back(b);
  pairs.observe(1, many, 0.3, kReading_s);
  CHECK(pairs.pairs() <= 64);
}

std::string packed(const PairExcess& pairs) {
  PackWriter out;
  pairs.pack(out);
  return out.take();
}

TEST_CASE("what is packed is unpacked the same; what is cut, doubled or out of range is refused") {
  DisturbedWorld world(4, 12, 0.3);
  PairExcess pairs;
  world.live(pairs, 3600, 0.02);
  REQUIRE(pairs.pairs() > 10);
  const std::string bytes = packed(pairs);
  PairExcess read;
  PackReader in(bytes);
  read.unpack(in);
  CHECK(in.done());
  CHECK(packed(read) == bytes);
  for (AppId a = 1; a <= 12; ++a)
    for (AppId b = 1; b <= 12; ++b) CHECK(read.expected(a, b) == pairs.expected(a, b));

  for (const std::size_t size : {std::size_t{0}, std::size_t{7}, bytes.size() / 2, bytes.size() - 1}) {
    PackReader cut(std::string_view(bytes).substr(0, size));
    PairExcess kept = pairs;
    kept.unpack(cut);
    CHECK_FALSE(cut.ok());
    CHECK(packed(kept) == bytes);
  }
  const auto refused = [](std::vector<std::array<double, 2>> numbers, AppId app) {
    PackWriter out;
    out.word(numbers.size());
    for (const auto& each : numbers) {
      out.word(app);
      out.word(2);
      out.real(each[0]);
      out.real(each[1]);
      out.real(0);
    }
    const std::string made = out.take();
    PackReader reader(made);
    PairExcess into;
    into.unpack(reader);
    return !reader.ok() && into.pairs() == 0;
  };
  CHECK_FALSE(refused({{0.3, 60}}, 1));
  CHECK(refused({{0.3, 60}, {0.3, 60}}, 1));
  CHECK(refused({{-0.1, 60}}, 1));
  CHECK(refused({{0.95, 60}}, 1));
  CHECK(refused({{0.3, -1}}, 1));
  CHECK(refused({{0.3, 60}}, 0));
}

PodSpec pod_named(const std::string& uid, const std::string& app) {
  PodSpec pod;
  pod.uid = uid;
  pod.app = app;
  pod.request = {1, 1e9};
  return pod;
}

// Three nodes; "noisy" runs on the first, "quiet" on the second, and pods of "victim" on both and on the third, which waits beside the first.
struct Known {
  ClusterView view;
  ClusterModel knowledge;
  explicit Known(bool told, double hours = 1) {
    for (const char* name : {"a", "b", "c"}) view.nodes.push_back(testing::healthy_node(name));
    const auto come = [&](const char* uid, const char* app, std::size_t row) {
      knowledge.placed(pod_named(uid, app), view.nodes[row].name, view.now);
      ++view.nodes[row].pods;
      view.nodes[row].requested.cpu_cores += 1;
    };
    come("1", "deployment/noisy x", 0);
    come("2", "deployment/quiet x", 1);
    come("3", "deployment/victim y", 0);
    come("4", "deployment/victim y", 1);
    come("5", "deployment/victim y", 2);
    for (int k = 0; k < 720 * hours; ++k) {
      view.now += from_seconds(kReading_s);
      for (NodeView& node : view.nodes) node.values.pressure.cpu_some_ratio = 0;
      const auto used = [&](const char* uid, double waited) {
        knowledge.used(knowledge.pod(uid), 0.5, kReading_s, told ? std::optional(waited) : std::nullopt);
      };
      used("1", 0);
      used("2", 0);
      used("3", kLost);
      used("4", 0);
      used("5", 0);
      knowledge.refresh(view);
    }
  }
  PlanView plan() {
    const PodEstimate ask = knowledge.ask(pod_named("6", "deployment/victim y"));
    PlanView view_of;
    view_of.pick = 0;
    view_of.nodes.resize(3);
    view_of.nodes[1].preference = -0.05;
    view_of.nodes[2].preference = -0.1;
    const std::vector<std::size_t> rows{0, 1, 2};
    mind_pairs(knowledge.fleet(view), ask, rows, view_of);
    return view_of;
  }
};

TEST_CASE("a cluster model learns who slows whom, and the network's plan goes elsewhere for what that costs") {
  Known known(true);
  const Fleet& fleet = known.knowledge.fleet(known.view);
  REQUIRE(fleet.pairs != nullptr);
  const PodEstimate victim = known.knowledge.ask(pod_named("6", "deployment/victim y"));
  const PodEstimate noisy = known.knowledge.ask(pod_named("7", "deployment/noisy x"));
  CHECK(added_pair_w(fleet, 0, victim) > 0);
  CHECK(added_pair_w(fleet, 1, victim) == 0);
  CHECK(added_pair_w(fleet, 2, victim) == 0);
  CHECK(added_pair_w(fleet, 1, noisy) > 0);   // who waits there would
  CHECK(added_pair_w(fleet, 0, noisy) == 0);  // it does already
  const PlanView plan = known.plan();
  CHECK(plan.pick == 1);
  CHECK(plan.avoided == 0);
  CHECK(plan.nodes[1].preference == 0);
  CHECK(plan.nodes[0].preference < -0.1);
  CHECK(plan.nodes[2].preference == doctest::Approx(-0.05));
}

TEST_CASE("where nobody tells what pods waited nothing is learned, and plans stay as they are") {
  Known known(false);
  CHECK(known.knowledge.fleet(known.view).pairs == nullptr);
  const PlanView plan = known.plan();
  CHECK(plan.pick == 0);
  CHECK_FALSE(plan.avoided.has_value());
  CHECK(plan.nodes[1].preference == -0.05);
}

TEST_CASE("what is known of pairs outlives a restart") {
  Known known(true, 0.25);
  const std::string bytes = known.knowledge.save(known.view);
  ClusterModel read;
  REQUIRE(read.restore(bytes).has_value());
  CHECK(read.pair_excess().pairs() == known.knowledge.pair_excess().pairs());
  CHECK(read.pair_excess().pairs() > 0);
  CHECK(packed(read.pair_excess()) == packed(known.knowledge.pair_excess()));
}

struct SaysNothing final : models::QNetwork {
  void residual(const models::Observation&, std::span<float> out) const override {
    std::fill(out.begin(), out.end(), 0.0F);
  }
  std::uint64_t step() const override { return 0; }
};

// What a network that says nothing costs beyond the planner, on copies to which pods of two applications come by turns.
double behind_on_copies(const PairExcess* pairs) {
  std::mt19937_64 random(11);
  Fleet fleet = draw_fleet(random);
  fleet.pods_stay = fleet.idle_nodes_sleep = false;
  fleet.pairs = pairs;
  for (FleetNode& node : fleet.nodes) {
    node = fleet.nodes.front();
    node.sleeps = false;
  }
  const std::vector<std::size_t> rows{0, 1, 2, 3, 4};
  Planner planner({});
  PairedSimulation copies;
  ClusterView view;
  const SaysNothing silent;
  double sum = 0;
  live(
      random, fleet, 200,
      [&](const Fleet& now, PodEstimate ask, std::uint64_t key) -> std::optional<std::size_t> {
        fill_view(now, view);
        ask.app = 1 + key % 2;
        const PairedQuestion question{view, now, rows, {}, ask, {}, key};
        sum += copies
                   .play(question, by_network(question, planner, {}, &silent, 0),
                         by_network(question, planner, {}, nullptr, 0))
                   .value_or(0);
        copies.placed(key, key % 5, ask, now.now_s);
        return key % 5;
      },
      [&](const Running& each) { copies.ended(each.key, each.ends_s); });
  return sum;
}

TEST_CASE("copies see what it is worth that the network's policy minds pairs, and nothing where none are known") {
  CHECK(behind_on_copies(nullptr) == 0);
  const PairExcess nobody;
  CHECK(behind_on_copies(&nobody) == 0);
  PairExcess pairs;
  for (int k = 0; k < 720; ++k)
    for (const AppId app : {AppId{1}, AppId{2}}) {
      const std::vector<AppId> other{3 - app};
      pairs.observe(app, other, kLost, kReading_s);
      pairs.observe(app, {}, 0, kReading_s);
    }
  REQUIRE(pairs.expected(1, 2) > 0.2);
  CHECK(behind_on_copies(&pairs) < -0.5);
}

}  // namespace
}  // namespace wattle::placement
