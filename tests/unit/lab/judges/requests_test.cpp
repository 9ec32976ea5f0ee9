// Request rules on usage histories with known results.
#include <doctest/doctest.h>

#include "common/json/value.hpp"
#include "lab/judges/histories.hpp"

using namespace wattle::sim;

namespace {

requests::History history_of(bool memory, double request, std::vector<double> samples) {
  return {memory, "made", 24 * 60, request, std::move(samples)};
}

}  // namespace

TEST_CASE("a machine that always uses a quarter is given a little more, and is never short") {
  const requests::HistoryResult played = requests::play_history(history_of(false, 4, std::vector<double>(600, 1.0)));
  CHECK(played.used == doctest::Approx(1));
  CHECK(played.wattle.under_ratio == 0);
  CHECK(played.wattle.requested < 1.25);
  CHECK(played.wattle.kills_per_day == 0);
}

TEST_CASE("memory above the request is an OOM kill, and the next request covers it") {
  std::vector<double> samples(600, 400.0);
  for (std::size_t i = 400; i < samples.size(); ++i) samples[i] = 600;
  const requests::HistoryResult played = requests::play_history(history_of(true, 1000, samples));
  CHECK(played.wattle.kills_per_day > 0);
  CHECK(played.wattle.under_ratio > 0);
  CHECK(played.wattle.under_ratio < 0.05);
  CHECK(played.wattle.requested < 1000);
  const auto json = wattle::SortedJson::parse(requests::histories_json({played}));
  CHECK(json.at("wattle").at("kills_per_day") == played.wattle.kills_per_day);
  CHECK(json.at("history") == "made");
}

TEST_CASE("invalid histories are refused with their line") {
  const auto read = requests::parse_histories("cpu a 0 4 1 2\n\nmemory b 5 100 1.5 2\n", "f");
  REQUIRE(read.has_value());
  REQUIRE(read->size() == 2);
  CHECK(read->at(1).memory);
  CHECK(read->at(1).judged_from == 5);
  CHECK(read->at(1).samples == std::vector<double>{1.5, 2});
  for (const char* line : {"cpu a 0 4", "disk a 0 4 1", "cpu a 5 4 1", "cpu a x 4 1", "cpu a 0 0 1", "cpu a 0 4 -1"}) {
    const auto refused = requests::parse_histories(std::string("cpu a 0 4 1\n") + line, "f");
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().subject == "f, line 2");
  }
  CHECK_FALSE(requests::parse_histories("\n", "f").has_value());
}
