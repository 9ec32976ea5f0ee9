// After an overload the node's rule keeps the target again within minutes, however long and deep the overload was.
#include "lab/judges/overload.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "lab/judges/provision.hpp"

using namespace wattle::sim::provision;

namespace {

constexpr std::size_t kMinutesAfter = 20;

WorldOptions world_of(double rate_rps, std::size_t seconds) {
  WorldOptions options;
  options.trace =
      std::make_shared<const wattle::RateTrace>(wattle::RateTrace{"flat", std::vector<double>(seconds, rate_rps)});
  options.warm_s = 60;
  return options;
}

std::optional<std::uint64_t> until_kept(const Maker& make, const WorldOptions& world, const Overload& overload) {
  const auto provisioner = make(world.seed);
  const auto until = minutes_until_kept(World(overloaded(world, overload)), *provisioner, overload.end_minute());
  REQUIRE(until);
  return *until;
}

// What came and was not served, in minutes of what is left of the cores beside what comes.
double minutes_to_drain(const WorldOptions& world, const Overload& overload) {
  const double used = world.trace->rates_rps.front() * world.work_s;
  return static_cast<double>(overload.minutes) * (overload.times - 1) * world.cores / (world.cores - used);
}

}  // namespace

TEST_CASE("property: after any overload the rule is back two minutes after the backlog can have been served") {
  rc::check([] {
    Overload overload;
    overload.begin_minute = *rc::gen::inRange<std::size_t>(1, 4);
    overload.minutes = *rc::gen::inRange<std::size_t>(1, 6);
    overload.times = 0.05 * *rc::gen::inRange(20, 31);
    const double rate_rps = *rc::gen::inRange(30, 400);
    WorldOptions world = world_of(rate_rps, 60 * (overload.end_minute() + kMinutesAfter));
    world.seed = *rc::gen::inRange<std::uint64_t>(1, 1000);
    world.services = *rc::gen::inRange<std::size_t>(1, 3);
    world.first_cores = *rc::gen::element(0.05, 0.5, 2.0);
    const auto until = until_kept(prepare_students(world, 0.003), world, overload);
    RC_ASSERT(until.has_value());
    RC_ASSERT(static_cast<double>(*until) <= std::ceil(minutes_to_drain(world, overload)) + 2);
  });
}

TEST_CASE("a rule that never gives more is reported never to be back") {
  Overload overload;
  overload.begin_minute = 2;
  WorldOptions world = world_of(100, 60 * (overload.end_minute() + kMinutesAfter));
  world.first_cores = 0.41;  // the backlog stays
  CHECK_FALSE(until_kept(prepare_idle(world, 0), world, overload));
}

TEST_CASE("a judgement reports an overload, and refuses one that the trace ends with") {
  JudgeOptions options;
  options.traces = {{"flat", std::vector<double>(600, 100)}};
  options.contestants = {"wattle", "clairvoyant"};
  options.world.warm_s = 60;
  options.seeds = 2;
  options.overload = Overload{2, 2, 1.2};
  const auto judgement = judge(options, [](double, const std::string&) {});
  REQUIRE(judgement);
  for (const Entry& entry : judgement->entries)
    for (const auto* kind : {&entry.after_overload, &entry.from_starved}) {
      REQUIRE(kind->size() == 2);
      for (const auto& until : *kind) CHECK(until.value_or(99) <= 3);
    }
  CHECK(judgement_text(options, *judgement).find("2 of 2, ") != std::string::npos);
  CHECK(judgement_json(options, *judgement).find("\"from_starved\"") != std::string::npos);
  options.overload->minutes = 4;
  CHECK_FALSE(judge(options, [](double, const std::string&) {}));
}

TEST_CASE(
    "from a limit far below the use DRPC never comes back that it learned below; the rule does within two minutes") {
  const WorldOptions world = starved(world_of(100, 3600), {});
  const auto from_starved = [&](const Maker& make) {
    const auto provisioner = make(world.seed);
    const auto until = minutes_until_kept(World(world), *provisioner, 0);
    REQUIRE(until);
    return *until;
  };
  CHECK(from_starved(prepare_students(world, 0.003)).value_or(99) <= 2);
  CHECK_FALSE(from_starved(prepare_drpc(world, 1.0)));
}
