// queue: pods that wait in the API server's queue.
#include <doctest/doctest.h>

#include "tests/unit/controller/watched_rig.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;

TEST_CASE("pods without a node are in the API server's queue until they are bound or end") {
  WatchedRig rig(Mode::live);
  rig.report(rig.pod("running", "n1"));
  kube::Pod waiting = rig.pod("waiting", "");
  rig.report(waiting);
  rig.report(rig.pod("small", ""));
  CHECK(rig.state.pods().queue(9, "small").size() == 1);
  CHECK(rig.state.pods().queue(9, "").size() == 2);
  waiting.node_name = "n2";
  rig.report(waiting);
  CHECK(rig.state.pods().queue(9, "small").empty());
  rig.report_gone("small");
  CHECK(rig.state.pods().queue(9, "").empty());
}
