// Workloads that an operator confirms: their identity on the node, their end, and their recovery after a restart.
#include "controller/decisions/confirmed_workloads.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "tests/unit/controller/confirmed_rig.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;

namespace {

const std::string kReport = "nightly-report.service";

}  // namespace

TEST_CASE("a unit of the workload's name takes room while it runs and frees it at its end, on three nights") {
  ConfirmedRig rig({"n1"});
  rig.ticks(2);
  for (int night = 1; night <= 3; ++night) {
    CAPTURE(night);
    const std::string uid = "night-" + std::to_string(night);
    rig.place(uid, "nightly-report");
    CHECK(rig.requested("n1") == 0);
    rig.start("n1", kReport);
    const Confirmation reported = rig.confirm("nightly-report", "n1");
    CHECK(reported.uid == uid);
    rig.ticks(5);
    CHECK(rig.requested("n1") == 0.5);
    CHECK(rig.pod(uid)->unit == kReport);
    CHECK(rig.state().node("n1")->workloads.at(uid).values.kind == WorkloadKind::pod);
    rig.stop("n1", kReport);
    rig.ticks(2);
    CHECK(rig.requested("n1") == 0);
    CHECK(rig.requested_bytes("n1") == 0);
    CHECK(rig.confirmed().size() == 0);
    REQUIRE(rig.decision(uid)->decision.outcome);
    CHECK(rig.decision(uid)->decision.placed_on == "n1");
  }
  // Each night has 5 s of records and a last record.
  CHECK(rig.energy_uj("nightly-report") == 3 * 6 * static_cast<std::int64_t>(ConfirmedRig::kUnit_uj));
}

TEST_CASE("a unit that appears on the advised node becomes the workload before it is confirmed, however short it is") {
  ConfirmedRig rig({"n1", "n2"});
  rig.ticks(2);
  const wire::Suggestion reported = rig.place("short", "nightly-report");
  REQUIRE_FALSE(reported.neutral);
  const std::string node = rig.decision("short")->decision.advice;
  rig.start(node, kReport);
  rig.stop(node, kReport);
  rig.tick();  // starts and ends within one record
  CHECK(rig.decision("short")->decision.placed_on == node);
  CHECK(rig.requested(node) == 0);
  const Confirmation late = rig.confirm("nightly-report", node);
  CHECK(late.ended);
  CHECK(rig.requested(node) == 0);
  CHECK(rig.energy_uj("nightly-report") == static_cast<std::int64_t>(ConfirmedRig::kUnit_uj));
  CHECK(rig.done("nightly-report").ended);
}

TEST_CASE("a unit that ran before the request does not become the workload of the same name") {
  ConfirmedRig rig({"n1"});
  rig.start("n1", "web.service");
  rig.ticks(3);
  rig.place("u", "web");
  rig.ticks(3);
  CHECK(rig.requested("n1") == 0);
  CHECK(rig.state().node("n1")->workloads.contains("web.service"));
  CHECK(rig.confirm("u", "n1").unit == "web.service");  // the operator names it
  CHECK(rig.requested("n1") == 0.5);
}

TEST_CASE("a unit is named with --unit: by name, without suffix, by path, or a container by the start of its ID") {
  const std::string id(64, 'a');
  for (const auto& [given, unit] :
       std::vector<std::pair<std::string, std::string>>{{"job-7.service", "job-7.service"},
                                                        {"job-7", "job-7.service"},
                                                        {"/system.slice/job-7.service", "job-7.service"},
                                                        {"run-1.scope", "run-1.scope"},
                                                        {id.substr(0, 12), id},
                                                        {"/docker/" + id, id},
                                                        {"/system.slice/docker-" + id + ".scope", id}}) {
    const auto shown = given;
    INFO(shown);
    ConfirmedRig rig({"n1"});
    rig.start("n1", unit);
    rig.ticks(2);
    rig.place("u", "job");
    CHECK(rig.confirm("u", "n1", given).unit == unit);
    rig.ticks(2);
    CHECK(rig.requested("n1") == 0.5);
    rig.stop("n1", unit);
    rig.ticks(2);
    CHECK(rig.requested("n1") == 0);
  }
  CHECK(unit_names("/").empty());
  CHECK_FALSE(is_unit("abc", std::string(64, 'a')));
}

TEST_CASE("the controller waits for a named unit, and ends the workload if the unit does not appear") {
  ConfirmedRig rig({"n1"});
  rig.ticks(2);
  rig.place("late", "a");
  CHECK(rig.confirm("late", "n1", "late.service").unit.empty());
  rig.ticks(20);
  rig.start("n1", "late.service");
  rig.ticks(2);
  CHECK(rig.pod("late")->unit == "late.service");
  rig.place("never", "b");
  rig.confirm("never", "n1", "never.service");
  rig.ticks(30);
  CHECK(rig.requested("n1") == 1);
  rig.ticks(40);
  CHECK(rig.pod("never") == nullptr);
  CHECK(rig.requested("n1") == 0.5);
}

TEST_CASE("a workload without a unit ends on done, at its time limit, or after a day") {
  ConfirmedRig rig({"n1"});
  rig.ticks(2);
  rig.place("a", "by-hand");
  rig.confirm("a", "n1");
  rig.place("b", "limited");
  CHECK(rig.confirm("b", "n1", {}, 30s).limit_s > 0);
  rig.place("c", "forgotten");
  rig.confirm("c", "n1");
  CHECK(rig.requested("n1") == 1.5);
  CHECK_FALSE(rig.done("by-hand").ended);
  CHECK(rig.done("by-hand").ended);  // a repeated call gives the same result
  CHECK(rig.requested("n1") == 1);
  rig.ticks(31);
  CHECK(rig.requested("n1") == 0.5);
  rig.clock.advance(24h);
  rig.tick();
  CHECK(rig.requested("n1") == 0);
  rig.place("d", "unstarted");
  CHECK(rig.done("d").node.empty());
  CHECK(rig.pod("d") == nullptr);
  CHECK(rig.state().node_view("n1")->in_flight == 0);
}

TEST_CASE(
    "done ends a workload whose unit still runs, and the unit is an ordinary unit again; a failure is its outcome") {
  ConfirmedRig rig({"n1"});
  rig.start("n1", kReport);
  rig.ticks(2);
  rig.place("u", "nightly-report");
  rig.confirm("u", "n1");
  rig.ticks(2);
  rig.done("u", true);
  rig.ticks(3);
  CHECK(rig.requested("n1") == 0);
  CHECK(rig.state().node("n1")->workloads.at(kReport).values.kind == WorkloadKind::service);
  REQUIRE(rig.decision("u")->decision.outcome);
  CHECK(rig.decision("u")->decision.outcome->failure == "crash");
}

TEST_CASE("a restarted unit stays the same workload, and a unit confirmed under another name becomes that workload") {
  ConfirmedRig rig({"n1"});
  rig.start("n1", kReport);
  rig.ticks(2);
  rig.place("u", "nightly-report");
  rig.confirm("u", "n1");
  rig.ticks(2);
  rig.stop("n1", kReport);
  rig.ticks(3);
  CHECK(rig.requested("n1") == 0);
  rig.start("n1", kReport);
  rig.ticks(3);
  CHECK(rig.requested("n1") == 0.5);
  REQUIRE(rig.pod("u") != nullptr);
  CHECK(rig.pod("u")->spec.name == "nightly-report");
  rig.place("v", "another", 2);
  rig.confirm("v", "n1", kReport);
  CHECK(rig.requested("n1") == 2);
  CHECK(rig.pod("u") == nullptr);
}

TEST_CASE("a restart keeps the requests, identity and end of confirmed workloads") {
  for (const auto& [usage, written] : std::vector<std::pair<std::uint64_t, bool>>{
           {std::uint64_t{64} << 20, false}, {std::uint64_t{64} << 20, true}, {0, false}, {0, true}}) {
    const auto usage_bytes = usage;
    const auto write_each = written;
    CAPTURE(usage_bytes);
    CAPTURE(write_each);
    ConfirmedRig rig({"n1", "n2"}, usage_bytes);
    rig.write_each_placement = write_each;
    rig.start("n1", kReport);
    rig.ticks(2);
    rig.place("tied", "nightly-report");
    rig.confirm("tied", "n1");
    rig.place("untied", "by-hand", 0.25);
    rig.confirm("untied", "n2", {}, 1h);
    rig.ticks(2);
    rig.restart();
    // After the first records of the agents.
    CHECK(rig.requested("n1") == 0.5);
    CHECK(rig.requested_bytes("n1") == 0.5 * ConfirmedRig::kBytesPerCore);
    CHECK(rig.requested("n2") == 0.25);
    rig.ticks(3);
    CHECK(rig.requested("n1") == 0.5);
    REQUIRE(rig.pod("tied") != nullptr);
    CHECK(rig.pod("tied")->unit == kReport);
    CHECK(rig.pod("tied")->spec.name == "nightly-report");
    CHECK(rig.pod("tied")->decision_id == rig.decision("tied")->decision.id);
    rig.stop("n1", kReport);
    rig.ticks(2);
    CHECK(rig.requested("n1") == 0);
    rig.restart();
    rig.ticks(2);
    CHECK(rig.requested("n1") == 0);
    CHECK(rig.requested("n2") == 0.25);
    rig.clock.advance(1h);
    rig.tick();
    CHECK(rig.requested("n2") == 0);
  }
}

TEST_CASE("a workload that ended while the controller was down ends, and its energy belongs to its owner") {
  ConfirmedRig rig({"n1"});
  rig.start("n1", kReport);
  rig.ticks(2);
  rig.place("u", "nightly-report");
  rig.confirm("u", "n1");
  rig.ticks(3);
  const std::int64_t before = rig.energy_uj("nightly-report");
  rig.stop("n1", kReport);
  rig.restart();
  rig.ticks(3);
  CHECK(rig.requested("n1") == 0);
  CHECK(rig.energy_uj("nightly-report") == before + static_cast<std::int64_t>(ConfirmedRig::kUnit_uj));
}

TEST_CASE("a restart between place and confirm, or a late confirm, keeps the request") {
  ConfirmedRig rig({"n1"});
  rig.ticks(2);
  rig.place("early", "a", 1.5);
  rig.tick();
  rig.restart();
  rig.ticks(2);
  rig.confirm("early", "n1");
  CHECK(rig.requested("n1") == 1.5);
  rig.place("slow", "b", 0.25);
  rig.tick();
  rig.clock.advance(20min);
  rig.ticks(2);
  CHECK(rig.pod("slow") == nullptr);
  rig.confirm("slow", "n1");
  CHECK(rig.requested("n1") == 1.75);
}

TEST_CASE("pods that only agents report keep name, decision, owner and requests over a restart") {
  ConfirmedRig rig({"n1", "n2"});
  rig.ticks(2);
  rig.place("0b7e1d8c-0000-4000-8000-000000000001", "web-1", 0.75);
  rig.start_pod("n2", "0b7e1d8c-0000-4000-8000-000000000001");
  rig.ticks(8);
  const std::string uid = "0b7e1d8c-0000-4000-8000-000000000001";
  REQUIRE(rig.decision(uid)->decision.placed_on == "n2");
  const Pod before = *rig.pod(uid);
  for (int life = 0; life < 2; ++life) {
    rig.restart();
    rig.ticks(2);
    const Pod* after = rig.pod(uid);
    REQUIRE(after != nullptr);
    CHECK(after->spec.name == before.spec.name);
    CHECK(after->spec.pod_namespace == before.spec.pod_namespace);
    CHECK(after->spec.app == before.spec.app);
    CHECK(after->spec.owner == before.spec.owner);
    CHECK(after->decision_id == before.decision_id);
    CHECK(rig.requested("n2") == 0.75);
    CHECK(rig.decider().figures().placements_unasked == 0);
  }
}

TEST_CASE("room that a workload takes is freed in every order of events") {
  const bool conserved = rc::check([] {
    enum Step { run, run_without_unit, run_named, stop, done, again, restart, flap, vanish, only_ask, kSteps };
    const auto steps = *rc::gen::resize(12, rc::gen::container<std::vector<std::pair<int, int>>>(rc::gen::pair(
                                                rc::gen::inRange<int>(0, kSteps), rc::gen::inRange(0, 64))));
    ConfirmedRig rig({"n1", "n2"});
    rig.ticks(2);
    struct Held {
      std::string node, unit;  // no unit: runs until it is done
      double cores = 0;
    };
    std::map<std::string, Held> held;
    int number = 0;
    const auto pick = [&](int at, bool with_unit) {
      std::vector<std::string> fit;
      for (const auto& [uid, each] : held)
        if (each.unit.empty() != with_unit) fit.push_back(uid);
      return fit.empty() ? std::string() : fit[static_cast<std::size_t>(at) % fit.size()];
    };
    for (const auto& [step, at] : steps) {
      const std::string node = at % 2 == 0 ? "n1" : "n2";
      const std::string name = "job-" + std::to_string(++number);
      const double cores = 0.25 * (1 + at % 4);
      const std::string tied = pick(at, true), untied = pick(at, false);
      switch (step) {
        case run:
        case run_without_unit:
        case run_named: {
          rig.place("uid-" + name, name, cores);
          const std::string unit = step == run ? name + ".service" : step == run_named ? "run-" + name + ".scope" : "";
          if (!unit.empty()) rig.start(node, unit);
          rig.confirm("uid-" + name, node, step == run_named ? unit : "");
          held["uid-" + name] = {node, unit, cores};
          break;
        }
        case stop:
          if (tied.empty()) break;
          rig.stop(held[tied].node, held[tied].unit);
          held.erase(tied);
          break;
        case done: {
          const std::string uid = untied.empty() ? tied : untied;
          if (uid.empty()) break;
          rig.done(uid);
          held.erase(uid);
          break;
        }
        case again:
          if (!untied.empty()) rig.confirm(untied, held[untied].node);
          if (!tied.empty()) rig.confirm(tied, held[tied].node, held[tied].unit);
          break;
        case restart:
          rig.restart();
          break;
        case flap:
          if (tied.empty()) break;
          rig.ticks(3);  // the unit was seen
          rig.stop(held[tied].node, held[tied].unit);
          rig.ticks(2);
          rig.start(held[tied].node, held[tied].unit);
          break;
        case vanish:  // ends while the controller is down, and no record reports it
          if (tied.empty()) break;
          rig.ticks(3);
          rig.stop(held[tied].node, held[tied].unit);
          rig.forget_ends();
          held.erase(tied);
          rig.restart();
          rig.ticks(70);
          break;
        default:
          rig.place("uid-" + name, name, cores);
          break;
      }
      rig.ticks(4);
      std::map<std::string, double> expected{{"n1", 0}, {"n2", 0}};
      for (const auto& [uid, each] : held) expected[each.node] += each.cores;
      for (const auto& [on, sum] : expected) {
        RC_ASSERT(rig.requested(on) == sum);
        RC_ASSERT(rig.requested_bytes(on) == sum * ConfirmedRig::kBytesPerCore);
      }
      RC_ASSERT(rig.confirmed().size() == held.size());
    }
    const auto running = held;
    for (const auto& [uid, each] : running) {
      if (each.unit.empty())
        rig.done(uid);
      else
        rig.stop(each.node, each.unit);
    }
    rig.ticks(40);  // expectations expire
    for (const std::string on : {"n1", "n2"}) {
      const placement::NodeView& view = *rig.state().node_view(on);
      RC_ASSERT(view.requested.cpu_cores == 0);
      RC_ASSERT(view.requested.memory_bytes == 0);
      RC_ASSERT(view.in_flight == 0U);
      RC_ASSERT(view.in_flight_request.cpu_cores == 0);
      RC_ASSERT(view.pods == 0U);
      RC_ASSERT(view.unsettled == 0U);
    }
  });
  CHECK(conserved);
}
