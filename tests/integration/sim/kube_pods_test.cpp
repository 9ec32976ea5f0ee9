// kube_pods: simulated nodes run exactly the pods that an API server binds to them.
#include "sim/live/kube_pods.hpp"

#include <doctest/doctest.h>

#include <functional>

#include "common/transport/sockets.hpp"
#include "tests/integration/controller/fake_api.hpp"
#include "tests/patience.hpp"

using namespace wattle;
using namespace wattle::sim::live;
using namespace std::chrono_literals;
using controller::test::FakeApi;

namespace {

struct Rig {
  SystemClock clock;
  Log log = Log::silent();
  FakeApi api{log};
  Fleet fleet{sim::synthetic_fleet(2, 1), {}, clock.mono()};
  std::string n0 = fleet.server(0).name;
  KubePods pods{kube::ApiServer{kube::parse_url(api.url()).value(), ""}, 1, log};
  std::vector<wire::Placement> placements;

  bool until(const std::function<bool()>& done) {
    const MonoTime end = clock.mono() + wattle::tests::late();
    while (clock.mono() < end) {
      for (wire::Placement& each : pods.apply(fleet, clock.mono())) placements.push_back(std::move(each));
      if (done()) return true;
      transport::poll({}, {}, 5ms);
    }
    return false;
  }
};

}  // namespace

TEST_CASE_FIXTURE(Rig,
                  "a pod runs on its bound node, uses its workload's demand, and stops when it is deleted or ends") {
  api.put_pod("p1", "");
  api.put_pod("p2", n0);
  api.put_pod("p3", "another's node");
  REQUIRE(until([&] { return fleet.pods() == 1; }));
  CHECK(fleet.list()[0].uid == "p2");
  CHECK(fleet.list()[0].cpu_request_cores == 1);
  const double demand = fleet.list()[0].demand_cores;
  CHECK(demand >= 0.18);
  CHECK(demand <= 1.1);
  REQUIRE(placements.size() == 1);
  CHECK(placements[0].node == n0);
  api.put_pod("p1", n0);
  REQUIRE(until([&] { return fleet.pods() == 2; }));
  // Same owner and image: the same workload, different pods.
  CHECK(fleet.list()[0].demand_cores != demand);
  CHECK(fleet.list()[0].demand_cores == doctest::Approx(demand).epsilon(0.25));
  api.erase_pod("p2");
  REQUIRE(until([&] { return fleet.pods() == 1; }));
  CHECK(placements.back().gone);
  CHECK(placements.back().pod_uid == "p2");
}
