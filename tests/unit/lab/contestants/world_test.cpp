// Accounting of worlds: used and granted cores, minutes over target, equal requests for all, and recovery from
// overload.
#include "sim/provision/world.hpp"

#include <doctest/doctest.h>

#include "lab/contestants/contestants.hpp"

using namespace wattle::sim::provision;

namespace {

WorldOptions world_of(double rate_rps, std::size_t seconds) {
  WorldOptions options;
  options.trace =
      std::make_shared<const wattle::RateTrace>(wattle::RateTrace{"flat", std::vector<double>(seconds, rate_rps)});
  options.warm_s = 120;
  return options;
}

Figures figures_of(std::string_view name, WorldOptions options, double setting) {
  const Contestant* contestant = find_contestant(name);
  REQUIRE(contestant != nullptr);
  options.clairvoyant = name == kClairvoyant;
  const auto provisioner = contestant->prepare(options, setting)(options.seed);
  const auto figures = play(World(options), *provisioner);
  REQUIRE(figures);
  return *figures;
}

class IdleProvisioner final : public Provisioner {
 public:
  void tick(const Reading&, std::span<std::optional<wattle::actuator::CpuLimit>>) override {}
};

}  // namespace

TEST_CASE("usage is rate times work, for each service of a chain") {
  for (const std::size_t services : {1U, 3U}) {
    WorldOptions options = world_of(100, 600);
    options.services = services;
    IdleProvisioner none;
    const auto figures = play(World(options), none);
    REQUIRE(figures);
    CHECK(figures->used_cores == doctest::Approx(0.4 * static_cast<double>(services)).epsilon(0.05));
    CHECK(figures->granted_cores == doctest::Approx(2 * static_cast<double>(services)).epsilon(0.01));
    CHECK(figures->minutes == 10);
    CHECK(figures->minutes_over == 0);
    CHECK(figures->requests == doctest::Approx(60'000).epsilon(0.02));
  }
}

TEST_CASE("the same seed gives the same figures, and requests do not depend on the rule") {
  const WorldOptions options = world_of(100, 300);
  const Figures once = figures_of("wattle", options, 0.003), again = figures_of("wattle", options, 0.003);
  CHECK(once.granted_cores == again.granted_cores);
  CHECK(once.requests_over == again.requests_over);
  CHECK(once.requests == figures_of("k8s-cpu-fast", options, 0.5).requests);
}

TEST_CASE("the clairvoyant grants exactly the usage and meets every minute's target, for chains too") {
  for (const std::size_t services : {1U, 3U}) {
    WorldOptions options = world_of(100, 300);
    options.services = services;
    const Figures figures = figures_of(kClairvoyant, options, 0);
    CHECK(figures.minutes_over == 0);
    CHECK(figures.granted_cores == doctest::Approx(figures.used_cores).epsilon(0.001));
  }
}

TEST_CASE("no rule grants less than the clairvoyant without late requests") {
  const WorldOptions options = world_of(100, 300);
  for (const Contestant& each : contestants()) {
    CAPTURE(each.name);
    if (each.name == "tower" || each.name == "drpc") continue;  // they learn for hours
    const Figures figures = figures_of(each.name, options, each.settings.back());
    CHECK((figures.minutes_over > 0 || figures.granted_cores >= figures.used_cores * 0.999));
  }
}

TEST_CASE("a chain of many services may have replicas too: there are more places than services, and as many works") {
  WorldOptions options = world_of(100, 300);
  options.services = 3;
  options.most_replicas = 3;
  World world(options);
  while (!world.done()) {
    const Reading reading = world.advance();
    if (reading.minute == nullptr) continue;
    CHECK(reading.minute->p99_s < options.target_s);
  }
  CHECK(world.figures().requests == doctest::Approx(30'000).epsilon(0.02));
}

TEST_CASE("requests without an answer count as late: a limit below usage is over target in every minute") {
  WorldOptions options = world_of(100, 300);
  options.first_cores = 0.2;
  IdleProvisioner none;
  const auto figures = play(World(options), none);
  REQUIRE(figures);
  CHECK(figures->minutes_over == figures->minutes);
  // Except for those of the last 100 ms.
  CHECK(figures->requests_over <= figures->requests);
  CHECK(static_cast<double>(figures->requests_over) > 0.999 * static_cast<double>(figures->requests));
}

TEST_CASE("the node's rule grants little more than usage, meets the target, and writes rarely") {
  const Figures figures = figures_of("wattle", world_of(130, 900), 0.003);
  CHECK(figures.minutes_over == 0);
  CHECK(figures.granted_cores < 1.25 * figures.used_cores);
  CHECK(figures.writes_per_minute < 300);
}

TEST_CASE("the node's rule leaves overload: a limit far below usage is raised before the second minute") {
  WorldOptions options = world_of(130, 600);
  options.first_cores = 0.05;
  options.warm_s = 60;
  CHECK(figures_of("wattle", options, 0.003).minutes_over <= 1);
}
