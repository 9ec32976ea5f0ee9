#include "lab/report/suite.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "common/json/value.hpp"
#include "lab/policies/lab_policies.hpp"
#include "lab/report/derive.hpp"
#include "models/frozen/frozen_network.hpp"
#include "models/frozen/layout.hpp"

using namespace wattle;
using namespace wattle::sim;

namespace {

suite::Options small() {
  suite::Options options;
  options.quick = true;
  options.trials = {"thesis_test1", "latency_shift"};
  options.contestants = {{"kube-default", Binding::unadvised},
                         {"again", Binding::unadvised},
                         lab_contestant("lvrb").value(),
                         lab_contestant("random").value(),
                         {"true-greedy", Binding::truth}};
  return options;
}

}  // namespace

TEST_CASE(
    "the same seeds give the same JSON, the report uses only that, and the default compared with itself is zero") {
  const suite::SuiteResult result = suite::run(small()).value();
  const std::string json = suite::to_json(result);
  CHECK(json == suite::to_json(suite::run(small()).value()));
  suite::Options other = small();
  other.first_seed += 100;
  CHECK(json != suite::to_json(suite::run(other).value()));
  for (const suite::TrialResult& trial : result.trials) {
    REQUIRE(trial.entries.size() == 5);
    const auto& again = trial.entries[1];
    CHECK(again.energy->ratio.mean == 0);
    CHECK_FALSE(again.energy->ratio.known());  // two seeds
    CHECK(again.energy->holm_p == 1);
    for (const suite::Entry& entry : trial.entries) CHECK(entry.episodes.size() == trial.seeds.size());
  }
}

TEST_CASE("a contestant's figures do not depend on the other contestants") {
  suite::Options alone = small();
  alone.trials = {"latency_shift"};
  alone.contestants = {lab_contestant("lvrb").value()};
  const auto one = suite::run(alone).value();
  const auto all = suite::run(small()).value();
  for (std::size_t s = 0; s < one.trials[0].seeds.size(); ++s)
    CHECK(one.trials[0].entries[0].episodes[s].energy_j == all.trials[1].entries[2].episodes[s].energy_j);
}

TEST_CASE("progress goes from zero to one, and an unknown trial or baseline is refused with the names") {
  double last = -1;
  const auto run = suite::run(small(), [&](double done, const std::string&) {
    CHECK(done >= last);
    last = done;
  });
  CHECK(run);
  CHECK(last == 1);
  suite::Options wrong = small();
  wrong.trials = {"nope"};
  CHECK(suite::run(wrong).error().fix.find("burst") != std::string::npos);
  wrong = small();
  wrong.contestants = {{"x", Binding::alone, "nope"}};
  CHECK(suite::run(wrong).error().code == Errc::not_found);
}

TEST_CASE("JSON has the scenarios by name, and the settings of consolidation") {
  suite::Options options = small();
  options.trials = {"thesis_test1", "consolidation"};
  options.contestants.resize(1);
  options.consolidation = consolidation::synthetic_dataset(3);
  const auto reported = wattle::SortedJson::parse(suite::to_json(suite::run(options).value()));
  CHECK(reported["trials"][0]["scenario"] == "thesis_test1");
  CHECK(reported["consolidation"].size() == 3);
}

TEST_CASE("every trial's scenario, control and merits exist") {
  for (const suite::Trial& trial : suite::kTrials) {
    CHECK(find_scenario(trial.scenario));
    if (!trial.control.empty()) CHECK(find_scenario(trial.control));
    for (const std::string_view merit : trial.merits) {
      bool found = false;
      for (const suite::Column& column : suite::columns()) found = found || column.name == merit;
      CHECK_MESSAGE(found, merit);
    }
  }
}

TEST_CASE(
    "consolidation is part of the run: three settings in the short one, the data's name, and a network if given") {
  suite::Options options = small();
  options.trials = {"consolidation"};
  options.seeds = 1;
  options.consolidation = consolidation::synthetic_dataset(3);
  const auto reported = [&] { return wattle::SortedJson::parse(suite::to_json(suite::run(options).value())); };
  const auto without = reported();
  CHECK(without["data"] == "synthetic");
  CHECK(without["trials"].empty());
  REQUIRE(without["consolidation"].size() == 3);
  const auto rules = [](const wattle::SortedJson& report) {
    return report["consolidation"][2]["bench"]["tables"][0]["rules"];
  };
  CHECK(without["consolidation"][0]["bench"]["what"].get<std::string>().find("data: synthetic") != std::string::npos);
  CHECK(rules(without).back()["name"] == "planner");
  options.consolidation_network = models::FrozenNetwork::from_weights(models::initial_weights(1), 0, "initial").value();
  const auto with = reported();
  CHECK(rules(with).back()["name"] == "dqn");
  // An untrained network equals the planner.
  CHECK(rules(with).back()["energy_over_planner"]["iqm"] == 0);
  CHECK(rules(with).back()["energy_over_planner"]["high"].is_null());  // one seed has no interval
}

TEST_CASE("the report is self-contained, and a name cannot end its data early") {
  suite::SuiteResult result = suite::run(small()).value();
  result.data = "</script><b>";
  const std::string json = suite::to_json(result, {{"a </script> curve", {1, 2, 3}, {0.1, 0.2, 0.3}}});
  const std::string page = suite::to_html(json);
  for (const char* outside : {"src=", "href=", "@import", "url(", "fetch(", "@DATA@"})
    CHECK(page.find(outside) == std::string::npos);
  const std::string open = R"(<script id="data" type="application/json">)";
  const std::size_t from = page.find(open) + open.size(), to = page.find("</script>", from);
  const auto reported = wattle::SortedJson::parse(page.substr(from, to - from));
  CHECK(reported == wattle::SortedJson::parse(json));
  CHECK(reported["data"] == "</script><b>");
}

TEST_CASE("decisions to recover counts to the first ten of which nine are near") {
  EpisodeTrace trace;
  for (int i = 0; i < 40; ++i) {
    trace.at_s.push_back(10 * i);
    trace.near.push_back(i >= 14 && i != 17);
  }
  CHECK(decisions_to_recover(trace, 100, 400) == 4);  // from decision 10 on: 10..13 are far
  CHECK(decisions_to_recover(trace, 140, 400) == 0);
  CHECK(decisions_to_recover(trace, 100, 200) == 10);  // never, within these ten
}

TEST_CASE("recovery after hidden curves is counted in decisions and compared with the reference on the same seed") {
  EpisodeTrace mine, reference;
  double a = 0, b = 0;
  for (int i = 0; i < 200; ++i) {
    mine.at_s.push_back(i);
    reference.at_s.push_back(i);
    mine.energy_j.push_back(a += i >= 50 && i < 90 ? 130 : 100);
    reference.energy_j.push_back(b += 100);
  }
  const double k = suite::recovered_after(mine, reference, 50);
  CHECK(k >= 30);
  CHECK(k <= 40);
  CHECK(suite::recovered_after(reference, reference, 50) == 0);
}

TEST_CASE("merits are compared with the default's, users' energy with round-robin's; ratios match the figures") {
  suite::Options options = small();
  options.trials = {"provisioning"};
  options.contestants = {
      {"kube-default", Binding::unadvised}, lab_contestant("most-pods").value(), lab_contestant("round-robin").value()};
  const auto result = suite::run(options).value();
  const auto& entries = result.trials[0].entries;
  std::map<std::string, std::size_t> bases;
  for (const suite::Entry& entry : entries)
    for (const suite::Comparison& each : entry.comparisons) {
      ++bases[each.base];
      CHECK(each.base != entry.name);
      CHECK(each.against.holm_p >= each.against.p);
    }
  CHECK(bases["kube-default"] >= 2);
  CHECK(bases["round-robin"] == 2);
  const auto& response = *std::find_if(entries[1].comparisons.begin(), entries[1].comparisons.end(),
                                       [](const auto& each) { return each.column == "response_ms"; });
  const auto& column = *std::find_if(suite::columns().begin(), suite::columns().end(),
                                     [](const auto& each) { return each.name == "response_ms"; });
  CHECK(response.against.ratio.mean == doctest::Approx(entries[1].of(column).mean / entries[0].of(column).mean - 1));
  CHECK(response.against.ratio.mean > 0);  // packing by requests makes pods wait
}

TEST_CASE("warm: an episode starts with what shadow mode learned of the cluster, including the waiting limit") {
  EnvOptions options;
  options.scenario = find_scenario("provisioning").value();  // short of cores: pods wait under any policy
  options.scenario.placements = 150;
  const std::vector<std::uint64_t> seeds{5, 6};
  const auto known = learned_in_shadow(options, seeds);
  REQUIRE(known);
  CHECK(*known == *learned_in_shadow(options, seeds));
  CHECK((*known)[0] != (*known)[1]);
  placement::ClusterModel begins;
  REQUIRE(begins.restore((*known)[0]));
  REQUIRE(begins.pod_time().cpu_wait().under_default());
  CHECK(*begins.pod_time().cpu_wait().under_default() > 0);
  CHECK(begins.pod_time().cpu_wait().limit() > placement::ClusterModel().pod_time().cpu_wait().limit());

  Env env(options);
  const Contestant planner = contestant_named("planner").value();
  const auto cold = run_episode(env, planner, 5), warm = run_episode(env, planner, 5, nullptr, (*known)[0]);
  REQUIRE(cold);
  REQUIRE(warm);
  CHECK(warm->energy_j != cold->energy_j);
  CHECK(evaluate(options, {planner}, {5}, true)->contestants[0].episodes[0].energy_j == warm->energy_j);
  CHECK_FALSE(run_episode(env, planner, 5, nullptr, "what nobody wrote"));
  CHECK(warm->wait_limit == doctest::Approx(begins.pod_time().cpu_wait().limit()));

  const Contestant heedless = contestant_named("kube-default").value();
  const auto as_it_is = run_episode(env, heedless, 5);
  options.waiting_times = 2;
  Env slow(options);
  const auto odd = run_episode(slow, heedless, 5);
  REQUIRE(as_it_is);
  REQUIRE(odd);
  CHECK(odd->pressure_ratio > as_it_is->pressure_ratio);
  CHECK(odd->pressure_ratio <= 2 * as_it_is->pressure_ratio);
  CHECK(odd->energy_per_work_j == as_it_is->energy_per_work_j);
  CHECK(*learned_in_shadow(options, seeds) == *known);  // oddities start with the episode
}

TEST_CASE("a contestant uses its own reward if it has one") {
  EnvOptions options;
  options.scenario = find_scenario("thesis_test2").value();
  Env env(options);
  const auto pods_apart = [&](const Contestant& contestant) {
    EpisodeTrace trace;
    REQUIRE(run_episode(env, contestant, 3, &trace));
    const auto& last = trace.pods.back();
    return *std::max_element(last.begin(), last.end()) - *std::min_element(last.begin(), last.end());
  };
  placement::RewardConfig energy;
  energy.weights.latency = 0;
  const Contestant by_world{"a", Binding::advised, "model-greedy"};
  Contestant by_energy{"b", Binding::advised, "model-greedy"};
  by_energy.reward = energy;
  EpisodeTrace one, other;
  REQUIRE(run_episode(env, by_world, 3, &one));
  REQUIRE(run_episode(env, by_energy, 3, &other));
  CHECK(one.pods != other.pods);
  by_energy.reward = options.reward;
  CHECK(pods_apart(by_world) == pods_apart(by_energy));
}
