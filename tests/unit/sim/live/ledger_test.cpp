#include "sim/live/ledger.hpp"

#include <doctest/doctest.h>

#include "sim/live/server_switch.hpp"

using namespace wattle::sim;
using namespace wattle::sim::live;

namespace {

DriveNode node(const std::string& name, double cores, double idle_w, double full_w, double latency_ms) {
  DriveNode value;
  value.server.name = name;
  value.server.cores = cores;
  value.server.memory_bytes = 8e9;
  for (std::size_t i = 0; i < kWattPoints; ++i)
    value.server.watts[i] = idle_w + (full_w - idle_w) * static_cast<double>(i) / 10.0;
  value.latency_ms = latency_ms;
  return value;
}

LedgerPod pod(const std::string& uid, double demand_cores) { return {uid, {250, 64 << 20}, demand_cores, 20.0, 30.0}; }

}  // namespace

TEST_CASE("energy is the integral of the curve over the load at each time") {
  Ledger ledger({node("a", 10, 50, 150, 5), node("b", 10, 20, 30, 5)});
  ledger.advance(10);
  CHECK(ledger.costs().energy_j == doctest::Approx(700));
  ledger.place(0, pod("p", 5));
  ledger.advance(2);
  CHECK(ledger.costs().energy_j == doctest::Approx(700 + 2 * (100 + 20)));
  ledger.remove("p");
  ledger.remove("p");
  ledger.advance(1);
  CHECK(ledger.costs().energy_j == doctest::Approx(700 + 240 + 70));
  CHECK(ledger.costs().idle_energy_j == doctest::Approx(13 * 70));
  CHECK(ledger.kube_nodes()[0].pods == 0);
}

TEST_CASE("a node that does not run draws its watts asleep, and each transition is charged once") {
  std::vector<DriveNode> nodes{node("a", 10, 50, 150, 5), node("b", 10, 20, 30, 5)};
  nodes[0].power.boots = 3;  // before the account starts
  Ledger ledger(nodes);
  ledger.advance(1);
  nodes[0].power = {10.0, 1, 3};
  ledger.set_power(nodes);
  ledger.set_power(nodes);
  ledger.advance(5);
  const double down_j = ServerSwitch::shutdown_j(), up_j = ServerSwitch::boot_j();
  CHECK(ledger.costs().energy_j == doctest::Approx(70 + 5 * 30 + down_j));
  nodes[0].power = {std::nullopt, 1, 4};
  ledger.set_power(nodes);
  ledger.advance(2);
  CHECK(ledger.costs().energy_j == doctest::Approx(70 + 150 + 140 + down_j + up_j));
  CHECK(ledger.costs().transitions_j == doctest::Approx(down_j + up_j));
  CHECK(ledger.costs().idle_energy_j == doctest::Approx(8 * 70));
  nodes[0].power = {};  // the swarm has restarted
  ledger.set_power(nodes);
  CHECK(ledger.costs().shutdowns == 1);
  CHECK(ledger.costs().boots == 1);
}

TEST_CASE("latency counts at the placement, and then for as long as it lasts") {
  std::vector<DriveNode> nodes{node("a", 10, 50, 150, 25), node("b", 10, 20, 30, 35)};
  Ledger ledger(nodes);
  ledger.place(0, pod("p", 1));
  ledger.place(1, pod("q", 1));
  CHECK(ledger.costs().above_soft == 2);
  CHECK(ledger.costs().above_hard == 1);
  ledger.advance(3);
  nodes[1].latency_ms = 5;
  ledger.set_latencies(nodes);
  ledger.advance(10);
  CHECK(ledger.costs().soft_pod_seconds == doctest::Approx(3 * 2 + 10));
  CHECK(ledger.costs().hard_pod_seconds == doctest::Approx(3));
}

TEST_CASE("an unknown latency is not a violation, and a pod placed twice counts once") {
  std::vector<DriveNode> nodes{node("a", 10, 50, 150, 5)};
  nodes[0].latency_ms.reset();
  Ledger ledger(nodes);
  ledger.place(0, pod("p", 1));
  ledger.place(0, pod("p", 1));
  CHECK(ledger.costs().placements == 1);
  CHECK(ledger.costs().above_soft == 0);
  CHECK(ledger.pods_on(0) == 1);
}
