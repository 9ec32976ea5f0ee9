// report: figures match the counts, and each field of the JSON is in docs/reference/load.md.
#include <doctest/doctest.h>

#include <fstream>
#include <sstream>

#include "common/json/value.hpp"
#include "load/http_report.hpp"
#include "load/resource.hpp"
#include "tests/places.hpp"

using namespace wattle;
using namespace wattle::load;
using namespace std::chrono_literals;
using json = wattle::SortedJson;

namespace {
Tally some() {
  Tally tally;
  tally.due = 5;
  tally.answered = 3;
  tally.by_status = {{200, 2}, {503, 1}};
  tally.fail(Failure::timeout);
  tally.cut_off = 1;
  tally.offered = 2s;
  tally.lasted = 4s;
  for (const Duration took : {10ms, 20ms, 30ms, 1000ms}) tally.latency.add(took);
  return tally;
}

void check_documented(const std::string& page, const json& document) {
  for (const auto& field : document.items()) {
    CHECK_MESSAGE(page.find("`" + field.key() + "`") != std::string::npos, field.key());
    if (field.value().is_object() && field.key() != "statuses") check_documented(page, field.value());
  }
}
}  // namespace

TEST_CASE("a percentile is never above the largest, and a mean is exact") {
  const Tally tally = some();
  CHECK(tally.latency.mean_ms() == doctest::Approx(265));
  CHECK(tally.latency.quantile_ms(0.5) >= 20);
  CHECK(tally.latency.quantile_ms(0.5) <= 20.2);
  CHECK(tally.latency.quantile_ms(1) == 1000);
  CHECK(Spread{}.quantile_ms(0.5) == 0);
  CHECK(Spread{}.mean_ms() == 0);
}

TEST_CASE("the JSON has the counts, rates over their own spans, and requests in flight by Little's law") {
  UserLoad load;
  load.arrivals = Arrivals::constant(1, 1s, Spacing::even, 1);
  const json reported = json::parse(http_json(load, some()));
  CHECK(reported["loop"] == "open");
  CHECK(reported["due_rps"] == 2.5);
  CHECK(reported["answered_rps"] == 0.75);
  CHECK(reported["statuses"]["503"] == 1);
  CHECK(reported["failed"]["timeout"] == 1);
  CHECK(reported["failed"]["refused"] == 0);
  CHECK(reported["under_way_mean"].get<double>() == doctest::Approx(1.06 / 4));
  CHECK(reported["latency_ms"]["max"] == 1000);
  const std::string text = http_text(load, some());
  for (const char* words : {"5 requests due in 2.0 s", "status 503: 1", "timeout: 1", "cut off by the end of the run 1",
                            "waited to be sent"})
    CHECK_MESSAGE(text.find(words) != std::string::npos, text);
  CHECK(text.find("refused") == std::string::npos);
}

TEST_CASE("every field is on the page, and every kind of failure") {
  std::ostringstream page;
  page << std::ifstream(tests::source_dir() + "/docs/reference/load.md").rdbuf();
  check_documented(page.str(), json::parse(http_json({}, some())));
  ResourceUse use;
  for (std::size_t i = 0; i < kResourceNames.size(); ++i)
    use.resources.push_back({static_cast<Resource>(i), 1e6, 2e6, 0.1, 3e5});
  use.lasted = 2s;
  const json reported = json::parse(resource_json(use));
  check_documented(page.str(), reported);
  CHECK(reported["disk"]["reached_bytes_per_s"] == 2e6);
  CHECK(reported["cpu"]["wanted_cores"] == 1e6);
  const std::string text = resource_text(use);
  CHECK(text.find("over 2.0 s, 0.400 cores in total") != std::string::npos);
  CHECK(text.find("only 0.30 MB/s reached storage") != std::string::npos);
}
