#include "lab/bench/sweep.hpp"

#include <doctest/doctest.h>

#include "common/json/value.hpp"

using namespace wattle;
using namespace wattle::sim;

namespace {

SweepOptions small_sweep() {
  SweepOptions options;
  options.servers = synthetic_fleet(2, 3);
  options.levels = {0, 0.5, 1};
  return options;
}

std::string all_lines(const SweepOptions& options) {
  std::string text;
  for (const SweepCell& cell : sweep_cells(options)) text += run_cell(options, cell);
  return text;
}

}  // namespace

TEST_CASE(
    "a sweep says what the curve says: idle watts without users, more watts, work and waiting with more of them") {
  const SweepOptions options = small_sweep();
  for (const ServerModel& server : options.servers) {
    double power_w = 0, requests = -1;
    for (const double level : options.levels) {
      const auto line = wattle::SortedJson::parse(run_cell(options, {server.name, level}));
      if (level == 0) {
        CHECK(line["power_w"].get<double>() == doctest::Approx(server.watts[0]).epsilon(1e-4));
        CHECK(line["response_ms"].is_null());
      } else {
        const auto used = line["utilisation"].get<double>();
        CHECK(line["power_w"].get<double>() == doctest::Approx(server.watts_at(used)).epsilon(1e-3));
        CHECK(line["response_ms"].get<double>() >= 100);  // its work alone
        CHECK(used <= level + 0.02);
      }
      CHECK(line["power_w"].get<double>() > power_w);
      CHECK(line["requests_per_s"].get<double>() > requests);
      power_w = line["power_w"].get<double>();
      requests = line["requests_per_s"].get<double>();
    }
  }
}

TEST_CASE("a sweep that was cut anywhere and goes on ends with the same bytes") {
  const SweepOptions options = small_sweep();
  const std::string whole = all_lines(options);
  for (std::size_t cut = 0; cut <= whole.size(); cut += 37) {
    const auto finished = finished_cells(whole.substr(0, cut), options);
    REQUIRE(finished);
    std::string text = whole.substr(0, finished->bytes);
    for (const SweepCell& cell : sweep_cells(options)) {
      bool done = false;
      for (const SweepCell& each : finished->cells) done = done || (!(each < cell) && !(cell < each));
      if (!done) text += run_cell(options, cell);
    }
    REQUIRE(text == whole);
  }
}

TEST_CASE("another sweep's file, a line twice and what is no line are refused with their number") {
  const SweepOptions options = small_sweep();
  const std::string whole = all_lines(options), first = whole.substr(0, whole.find('\n') + 1);
  CHECK(finished_cells(first + first, options).error().subject == "line 2");
  CHECK(finished_cells("nonsense\n", options).error().subject == "line 1");
  SweepOptions other = options;
  other.servers[0].name = "else";
  CHECK(finished_cells(whole, other).error().code == Errc::malformed);
  CHECK(finished_cells("", options)->bytes == 0);
}
