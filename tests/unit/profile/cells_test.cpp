// cells: finished cells of a profile are read back however the file was truncated, and those of another profile are
// refused.
#include "sim/profile/cells.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "common/json/value.hpp"

using namespace wattle;
using namespace wattle::sim::profile;

namespace {
const std::string kService = "/usr/bin/serve --port 80 \"a b\"";

Measured measured(double scale) {
  Measured out;
  out.seconds = 10;
  out.due_rps = 50 * scale;
  out.answered_rps = 49 * scale;
  out.failed = 3;
  out.p50_ms = 4;
  out.p99_ms = 80.5;
  out.used_cores = 0.4;
  return out;
}
}  // namespace

TEST_CASE("cells are all quotas with all rates, each once, in rising order") {
  CHECK(cells_of({1, 0.5, 1}, {20, 10}) == std::vector<Cell>{{0.5, 10}, {0.5, 20}, {1, 10}, {1, 20}});
}

TEST_CASE("a line has the measured values, and null for unknown ones") {
  Measured some = measured(1);
  auto line = wattle::SortedJson::parse(line_of({0.1, 50}, some, kService));
  CHECK(line["service"] == kService);
  CHECK(line["quota_cores"] == 0.1);
  CHECK(line["p99_ms"] == 80.5);
  CHECK(line["power_w"].is_null());
  CHECK(line["power_source"].is_null());
  CHECK(line["throttled_ratio"].is_null());
  some.power_w = 7.5;
  some.power_source = "estimated";
  some.p99_ms.reset();
  line = wattle::SortedJson::parse(line_of({0.1, 50}, some, "\xff"));
  CHECK(line["power_w"] == 7.5);
  CHECK(line["power_source"] == "estimated");
  CHECK(line["p99_ms"].is_null());
}

TEST_CASE("in a file truncated anywhere, its complete lines are done and the rest is not") {
  const auto cells = cells_of({0.1, 0.25, 1.0 / 3}, {10, 33.3, 1000});
  std::string text;
  std::vector<std::size_t> ends{0};
  for (const Cell& cell : cells) {
    text += line_of(cell, measured(cell.rate_rps), kService);
    ends.push_back(text.size());
  }
  CHECK(rc::check([&] {
    const auto cut = *rc::gen::inRange<std::size_t>(0, text.size() + 1);
    const auto done = done_cells(std::string_view(text).substr(0, cut), cells, kService);
    RC_ASSERT(done.has_value());
    const auto whole = static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), cut) - ends.begin() - 1);
    RC_ASSERT(done->cells == std::vector<Cell>(cells.begin(), cells.begin() + static_cast<std::ptrdiff_t>(whole)));
    RC_ASSERT(done->bytes == ends[whole]);
  }));
}

TEST_CASE("a file of another service or profile, or an invalid one, is refused with its line") {
  const auto cells = cells_of({0.5}, {10, 20});
  const std::string line = line_of(cells[0], measured(1), kService);
  const auto refuses = [&](const std::string& text, std::string_view word) {
    const auto done = done_cells(text, cells, kService);
    REQUIRE_FALSE(done);
    CHECK(done.error().message().find(word) != std::string::npos);
  };
  refuses(line + line, "line 2");
  refuses(line_of({0.5, 30}, measured(1), kService), "not a cell of this profile");
  refuses(line_of(cells[0], measured(1), "other"), "another service");
  for (const char* bad : {"{}\n", "[]\n", "x\n", "{\"quota_cores\":\"a\",\"rate_rps\":1}\n", "\n"})
    refuses(line + bad, "line 2: is not a cell of a profile");
}

TEST_CASE("the result of wattle-load is read after its progress output; anything else is reported") {
  Measured out;
  const std::string reported =
      R"({"lasted_s": 9.5, "due_rps": 20, "answered_rps": 18.5, "failed": {"timed_out": 2, "refused": 1},
          "latency_ms": {"count": 180, "p50": 3.5, "p99": 90}})";
  REQUIRE(read_load("    1 s: due 20/s\n" + reported + "\n", out));
  CHECK(out.seconds == 9.5);
  CHECK(out.answered_rps == 18.5);
  CHECK(out.failed == 3);
  CHECK(*out.p50_ms == 3.5);
  CHECK(*out.p99_ms == 90);
  Measured nothing;
  REQUIRE(read_load(
      R"({"lasted_s": 9, "due_rps": 2, "answered_rps": 0, "failed": {}, "latency_ms": {"count": 0, "p99": 0}})",
      nothing));
  CHECK_FALSE(nothing.p99_ms);
  for (const char* bad : {"", "refused", "}{", "{", "{}", "{\"lasted_s\":1,\"due_rps\":1,\"answered_rps\":1}"})
    CHECK_FALSE(read_load(bad, nothing));
}

TEST_CASE("the last power reported by samples is used, with its source") {
  Measured out;
  read_power("nonsense\n{\"node\":{}}\n", out);
  CHECK_FALSE(out.power_w);
  read_power("{\"node\":{\"energy_source\":\"estimated\"}}\n{\"node\":{\"energy_source\":\"rapl\",\"power_w\":42.5}}\n",
             out);
  CHECK(*out.power_w == 42.5);
  CHECK(out.power_source == "rapl");
}
