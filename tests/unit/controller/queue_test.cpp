// queue: pods that wait in the API server's queue count as next pods.
#include <doctest/doctest.h>

#include "tests/unit/controller/watched_rig.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;

TEST_CASE("pods in the API server's queue have room kept for them if configured; bound pods do not") {
  for (const int look_ahead : {0, 4}) {
    CAPTURE(look_ahead);
    WatchedRig rig(Mode::live);
    rig.config.look_ahead = look_ahead;
    kube::Pod running = rig.pod("running", "n1");
    running.cpu_request_cores = 6;
    rig.report(running);
    kube::Pod waiting = rig.pod("waiting", "");
    waiting.cpu_request_cores = 7.5;
    rig.report(waiting);
    kube::Pod itself = rig.pod("small", "");
    rig.report(itself);
    CHECK(rig.state.pods().queue(9, "small").size() == 1);
    CHECK(rig.state.pods().queue(9, "").size() == 2);
    rig.decider->asks().ask(ask_for("small", {"n1", "n2"}));
    const wire::Decision& decision = rig.decider->log().newest("small")->decision;
    CHECK(decision.next_pods == (look_ahead > 0 ? 1U : 0U));
    if (look_ahead > 0) CHECK(decision.advice == "n1");
    waiting.node_name = "n2";
    rig.report(waiting);
    CHECK(rig.state.pods().queue(9, "small").empty());
    rig.report_gone("small");
    CHECK(rig.state.pods().queue(9, "").empty());
  }
}
