// ahead: what a decision in a simulated world knows in advance, and how long a pod may be deferred there, as configured
// by its submitter.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "lab/bench/live_run.hpp"
#include "sim/scenarios/consolidation.hpp"

namespace wattle::sim::consolidation {
namespace {

Episode short_episode(const Dataset& data, std::uint64_t seed) {
  Options options;
  options.nodes = 6;
  options.churn = options.sleep = true;
  options.cluster_model = ClusterModel::production;
  options.life_s = 300;
  options.warm_s = 600;
  options.measure_s = 1800;
  options.cluster_seed = seed;
  return make_episode(data, options, seed);
}

// Defers each pod for as long as permitted, and then decides as the policy does.
class Waits final : public LivePlayer {
 public:
  explicit Waits(Chooser chooser) : chooser_(std::move(chooser)) {}
  WorldObserver* observer() override { return chooser_.observer(); }
  const placement::DecisionEngine& engine() const override { return chooser_.engine().engine(); }
  Status settled(std::vector<Settled>) override { return {}; }
  void ahead(const placement::Ahead& ahead) override {
    next.assign(ahead.next.begin(), ahead.next.end());
    left_s_ = ahead.defer_s;
  }
  Result<std::optional<std::size_t>> choose(const World& world, const placement::ClusterView& view, const SimPod& pod,
                                            std::uint64_t) override {
    first_s.emplace(pod.spec.uid, world.now_s());
    for (const placement::PodSpec& each : next) CHECK(each.uid != pod.spec.uid);
    wait_.reset();
    if (left_s_ > 0) {
      wait_ = placement::Deferral{std::min(7.0, left_s_), "", 0};
      return std::optional<std::size_t>();
    }
    last_s[pod.spec.uid] = world.now_s();
    return chooser_.choose(world, view, pod);
  }
  std::optional<placement::Deferral> deferred() const override { return wait_; }

  std::map<std::string, double> first_s, last_s;
  std::vector<placement::PodSpec> next;

 private:
  Chooser chooser_;
  double left_s_ = 0;
  std::optional<placement::Deferral> wait_;
};

}  // namespace

TEST_CASE("a pod is deferred at most until its deadline, and the time counts as waiting for a place") {
  const Dataset data = synthetic_dataset(3);
  const Episode episode = short_episode(data, 5);
  REQUIRE(episode.pods.size() > 20);
  const Contestant contestant = contestant_named("amortised").value();
  Waits player(Chooser::make(contestant, {}, 1).value());
  LiveRunOptions options;
  options.defer_s = 20;
  options.look_ahead = 3;
  const LivePlayed played = play_live(episode, player, {}, options).value();
  CHECK(player.next.size() <= 3);
  std::size_t placed = 0;
  for (const auto& [uid, at_s] : player.last_s) {
    CHECK(at_s >= player.first_s[uid] + 20 - 1e-5);
    ++placed;
  }
  CHECK(placed + 20 > episode.pods.size());  // except for the last ones
  CHECK(played.figures.deferrals >= 3 * static_cast<double>(placed));
  CHECK(played.figures.deferred_s == doctest::Approx(20).epsilon(0.1));
  CHECK(played.figures.pending_s >= 0.9 * played.figures.deferred_s);
}

TEST_CASE("our policies wait no longer than that; without permission and next pods nothing changes") {
  const Dataset data = synthetic_dataset(3);
  const Episode episode = short_episode(data, 6);
  const Contestant contestant = contestant_named("planner").value();
  const auto play = [&](double defer_s, std::size_t look_ahead) {
    LiveRunOptions options;
    options.defer_s = defer_s;
    options.look_ahead = look_ahead;
    return run_live(episode, nullptr, contestant, options).value();
  };
  const RunFigures plain = play(0, 0), waits = play(30, 0);
  CHECK(plain.deferrals == 0);
  CHECK(plain.deferred_s == 0);
  CHECK(waits.deferred_s <= 30);
  CHECK(waits.pending_s <= plain.pending_s + 30);
  CHECK(play(0, 0).energy_j == plain.energy_j);
}

}  // namespace wattle::sim::consolidation
