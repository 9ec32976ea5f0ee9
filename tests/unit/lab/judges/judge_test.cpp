// judge: names the best permitted setting of each contestant, or reports that there is none.
#include "lab/judges/provision.hpp"

#include <doctest/doctest.h>

#include "common/json/value.hpp"
#include "common/stats/bootstrap.hpp"

using namespace wattle::sim::provision;

namespace {

JudgeOptions small(std::vector<std::string> contestants) {
  JudgeOptions options;
  options.traces = {{"flat", std::vector<double>(300, 100)}, {"low", std::vector<double>(300, 50)}};
  options.contestants = std::move(contestants);
  options.world.warm_s = 120;
  options.seeds = 2;
  return options;
}

}  // namespace

TEST_CASE("the best setting stays within the permitted minutes and grants the least") {
  const JudgeOptions options = small({"wattle", "k8s-cpu-fast", "clairvoyant"});
  const auto judgement = judge(options, [](double, const std::string&) {});
  REQUIRE(judgement);
  REQUIRE(judgement->entries.size() == 6);
  for (const Entry& entry : judgement->entries) {
    CAPTURE(entry.contestant);
    REQUIRE(entry.best);
    const SettingResult& best = entry.settings[*entry.best];
    CHECK(best.minutes_over_ratio <= options.minutes_over_ratio);
    CHECK(best.granted_cores.size() == 2);
    for (const SettingResult& each : entry.settings)
      CHECK((each.minutes_over_ratio > options.minutes_over_ratio ||
             wattle::stats::mean(each.granted_cores) >= wattle::stats::mean(best.granted_cores)));
  }
  CHECK_FALSE(judgement->entries[0].of_wattle);
  CHECK(judgement->entries[1].of_wattle->mean < 0);
  CHECK(judgement->entries[2].of_wattle->mean > 0);  // none is below the floor
  const auto means = means_over_traces(*judgement);
  REQUIRE(means.size() == 3);
  const double one = wattle::stats::mean(judgement->entries[2].settings[0].granted_cores),
               other = wattle::stats::mean(judgement->entries[5].settings[0].granted_cores);
  CHECK(*means[2].granted_cores == doctest::Approx(std::sqrt(one * other)));

  const auto json = wattle::SortedJson::parse(judgement_json(options, *judgement));
  CHECK(json.at("simulated") == true);
  CHECK(json.at("entries").size() == 6);
  CHECK(json.at("geometric_mean").size() == 3);
  CHECK(judgement_text(options, *judgement).find("k8s-cpu-fast") != std::string::npos);
}

TEST_CASE("a contestant above the permitted minutes has no best setting, and no mean over traces") {
  JudgeOptions options = small({"k8s-cpu-fast"});
  options.world.target_s = 0.002;  // half of the mean work
  const auto judgement = judge(options, [](double, const std::string&) {});
  REQUIRE(judgement);
  for (const Entry& entry : judgement->entries) CHECK_FALSE(entry.best);
  CHECK_FALSE(means_over_traces(*judgement)[0].granted_cores);
  CHECK(judgement_text(options, *judgement).find("no setting") != std::string::npos);
}

TEST_CASE("an unknown contestant is refused with the known ones") {
  const auto judgement = judge(small({"nobody"}), [](double, const std::string&) {});
  REQUIRE_FALSE(judgement);
  CHECK(judgement.error().subject == "nobody");
  CHECK(judgement.error().fix.find("captain") != std::string::npos);
}
