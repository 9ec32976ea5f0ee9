// Requests on a day of use: what the figures say of histories whose answer is known.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "sim/requests/judge.hpp"

using namespace wattle::sim;

namespace {

consolidation::DemandDay day_of(std::size_t machines, float (*percent)(std::size_t sample)) {
  consolidation::DemandDay day;
  day.name = "made";
  for (std::size_t m = 0; m < machines; ++m)
    for (std::size_t i = 0; i < consolidation::kDaySamples; ++i) {
      if (i == 0) day.machines.emplace_back();
      day.machines.back()[i] = percent(i);
    }
  return day;
}

}  // namespace

TEST_CASE("a machine that always uses a quarter is given a little more by both, and is never short") {
  const requests::JudgeOptions options;
  const auto result = requests::judge_day(options, day_of(3, [](std::size_t) { return 25.0F; }));
  CHECK(result.machines == 3);
  CHECK(result.used_cores == doctest::Approx(1));
  for (const requests::RuleFigures* each : {&result.wattle, &result.vpa, &result.constant}) {
    CHECK(each->under_ratio == 0);
    CHECK(each->short_cores == 0);
    CHECK(each->requested_cores == doctest::Approx(1 + each->slack_cores));
    CHECK(each->requested_cores < 1.25);
    CHECK(each->changes_per_day == 0);
  }
  CHECK(result.constant.slack_cores == doctest::Approx(0));
  CHECK(result.wattle.slack_cores < result.vpa.slack_cores);  // no margin of 15%
}

TEST_CASE("use that doubles in the judged hours is followed by both; a rise is told as minutes under") {
  const requests::JudgeOptions options;
  const auto result = requests::judge_day(options, day_of(2, [](std::size_t i) { return i < 200 ? 20.0F : 40.0F; }));
  CHECK(result.wattle.under_ratio > 0);
  CHECK(result.wattle.under_ratio < 0.2);
  CHECK(result.wattle.changes_per_day > 0);
  CHECK(result.wattle.short_cores > 0);
  const auto json = nlohmann::json::parse(requests::results_json(options, {result}));
  CHECK(json.at("simulated") == true);
  CHECK(json.at("days").at(0).at("wattle").at("under_ratio") == result.wattle.under_ratio);
  const std::string text = requests::results_text(options, {result});
  for (const char* word : {"made, 2 machines", "wattle", "vpa", "constant", "simulated"})
    CHECK(text.find(word) != std::string::npos);
}
