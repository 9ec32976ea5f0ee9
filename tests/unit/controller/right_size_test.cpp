// right_size: from mode to rollback, with owners of an API server's pods, their telemetry, and a client that executes
// orders. Time is manual.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <memory>

#include "common/kube/pod.hpp"
#include "controller/provision/sizing_ladder.hpp"
#include "controller/web/sizing_json.hpp"
#include "tests/unit/common/temp_dir.hpp"
#include "tests/unit/controller/request_rig.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;
using placement::SizingOrderKind;

namespace {

void calm(WorkloadValues& values) { values.cpu_throttled_us = 0; }
void throttled(WorkloadValues& values) { values.cpu_throttled_us = 40'000'000; }

struct SizingRig : RequestRig {
  wattle::test::TempDir dir;
  std::unique_ptr<SizingLadder> ladder;
  std::vector<std::string> audited;
  std::string reported = "{}";  // workloads
  bool hand = true;             // the client that sets requests runs

  explicit SizingRig(std::vector<std::string> owners = {"Deployment/web"}) {
    start_ladder();
    for (const std::string& owner : owners) {
      kube::Pod pod = pod_of("u-" + owner, owner);
      pod.shrink_allowed = true;
      show(pod);
    }
  }
  std::string path() const { return dir.file("right-sizes.db"); }
  void start_ladder(bool may_set = true) {
    ladder.reset();
    const auto audit = [this](const std::string& who, const std::string& what, const std::string& why) {
      audited.push_back(who + ": " + what + ": " + why);
    };
    ladder = std::make_unique<SizingLadder>(*book, may_set, 1, path(), clock, log, audit);
    for (const kube::Pod& pod : pods) ladder->described(pod);
  }
  void show(const kube::Pod& pod) {
    report(pod);
    ladder->described(pod);
  }
  // A minute of telemetry, one pass of the client, and the steps of the ladder.
  void pass(double cores, void (*change)(WorkloadValues&) = calm) {
    minute(cores, 256 * kMebibyte, change);
    ladder->record(*state.node("n1"));
    if (hand) {
      REQUIRE(ladder->report("{\"namespace\":\"shop\",\"workloads\":" + reported + "}"));
    }
    finish(ladder->tick());
    if (hand) carry_out();
  }
  void passes(int minutes, double cores = 0.5, void (*change)(WorkloadValues&) = calm) {
    for (int i = 0; i < minutes; ++i) pass(cores, change);
  }
  void carry_out() {
    for (const kube::Pod& each : std::vector<kube::Pod>(pods)) {
      const SizedOwner* owner = ladder->owner(workload_of(each));
      if (owner == nullptr) continue;
      const placement::SizingOrder order = order_of(owner->state);
      kube::Pod pod = each;
      if (order.kind == SizingOrderKind::restore) {
        pod.cpu_request_cores = 2;
        pod.memory_request_bytes = 1024.0 * kMebibyte;
      }
      if (order.kind == SizingOrderKind::lower &&
          std::find(order.pods.begin(), order.pods.end(), pod.uid) != order.pods.end()) {
        pod.cpu_request_cores = order.target.cpu_cores;
        pod.memory_request_bytes = order.target.memory_bytes;
        pod.requests_set = true;
      }
      if (!(pod == each)) show(pod);
    }
  }
  Status order(const std::string& mode, const std::string& why = "", bool force = false) {
    Arguments arguments{{"mode", mode}};
    if (!why.empty()) arguments["why"] = why;
    if (force) arguments["force"] = "yes";
    return ladder->set_mode(arguments, "operator/ada");
  }
  const SizedOwner& of(const std::string& owner = "Deployment/web") const { return *ladder->owner("shop/" + owner); }
  double cores_of(const std::string& owner = "Deployment/web") const {
    for (const kube::Pod& pod : pods)
      if (pod.owner == owner) return pod.cpu_request_cores;
    return -1;
  }
  bool was_audited(const std::string& part) const {
    return std::any_of(audited.begin(), audited.end(),
                       [&](const std::string& line) { return line.find(part) != std::string::npos; });
  }
  // Runs until there is evidence for lower requests, observed in shadow.
  void learn() {
    REQUIRE(order("shadow"));
    passes(14 * 60);
  }
  void lower() {
    learn();
    REQUIRE(order("live", "test", true));
    passes(60);
    REQUIRE(cores_of() < 2);
  }
};

}  // namespace

TEST_CASE("off and shadow change nothing; shadow records whether the lower requests would have been enough") {
  SizingRig rig;
  CHECK(rig.ladder->mode().mode == ModeSetting(Mode::off));
  rig.passes(14 * 60);
  CHECK(rig.cores_of() == 2);
  CHECK(rig.of().waits == "the mode is off");
  CHECK(rig.of().state.shadow.since_s == 0);
  REQUIRE(rig.order("shadow"));
  rig.passes(120);
  CHECK(rig.cores_of() == 2);
  CHECK(order_of(rig.of().state).kind == SizingOrderKind::raise);
  CHECK(rig.of().state.shadow.over_cpu_ratio() < 0.05);
  rig.passes(60, 0.7);
  CHECK(rig.of().state.shadow.over_cpu_ratio() > 0.05);
  CHECK(rig.was_audited("operator/ada: right sizes: mode off -> shadow"));
}

TEST_CASE("modes open in order, each through its gate, and skipping a gate needs a reason") {
  SizingRig rig;
  CHECK(rig.order("canary:50%").error().what.find("shadow is the next mode") != std::string::npos);
  CHECK(rig.order("fast").error().code == Errc::malformed);
  REQUIRE(rig.order("shadow"));
  CHECK(rig.order("canary:50%").error().what.find("no owner has been observed for an hour") != std::string::npos);
  rig.passes(14 * 60);
  REQUIRE(rig.order("canary:95%"));
  CHECK(rig.order("live").error().what.find("has kept its lower requests") != std::string::npos);
  CHECK(rig.order("live", "", true).error().code == Errc::malformed);
  rig.passes(120);
  REQUIRE(rig.order("live"));
  CHECK(rig.cores_of() < 2);
  CHECK(rig.was_audited("mode canary:95% -> live"));
  rig.start_ladder(false);
  REQUIRE(rig.order("off"));
  CHECK(rig.order("canary:50%").error().code == Errc::denied);
}

TEST_CASE("requests are lowered in steps to the suggestion, and a lower mode restores them") {
  SizingRig rig;
  rig.learn();
  REQUIRE(rig.order("live", "test", true));
  rig.passes(2);
  CHECK(rig.cores_of() == 1.5);
  rig.passes(6 * 60);
  CHECK(rig.cores_of() < 0.62);
  CHECK(rig.of().waits == "its requests fit its need");
  const wattle::SortedJson shown = owner_sizing_json(*rig.ladder, "shop/Deployment/web");
  CHECK(shown["state"] == "held");
  CHECK(shown["original"]["cpu_cores"] == 2.0);
  CHECK(shown["measured"]["kills"] == 0.0);
  REQUIRE(rig.order("shadow"));
  rig.passes(2);
  CHECK(rig.cores_of() == 2);
  CHECK(rig.of().state.lowered.empty());
  CHECK(rig.was_audited("shop/Deployment/web: the original requests are restored: the mode is shadow"));
}

TEST_CASE("after a restart, pods whose resize was accepted long ago are lowered without another half hour of waiting") {
  SizingRig rig;
  rig.learn();
  const auto passes_until_lowered = [&](std::int64_t started_s) {
    kube::Pod pod = rig.pods[0];
    pod.started_s = started_s;
    rig.pods = {pod};
    rig.start_ladder();
    REQUIRE(rig.order("live", "test", true));
    int passes = 0;
    for (; rig.cores_of() == 2 && passes < 60; ++passes) rig.pass(0.5);
    return passes;
  };
  const auto now_s = static_cast<std::int64_t>(rig.ladder->now_s());
  SUBCASE("long ago") { CHECK(passes_until_lowered(now_s - 3600) < 10); }
  SUBCASE("just now") { CHECK(passes_until_lowered(now_s) >= 29); }
  SUBCASE("unknown") { CHECK(passes_until_lowered(0) >= 29); }
}

TEST_CASE("throttling restores the requests within two minutes, excludes the owner for a day, and is audited") {
  SizingRig rig;
  rig.lower();
  rig.passes(2, 0.5, throttled);
  CHECK(rig.cores_of() == 2);
  CHECK(
      rig.was_audited("right sizes: shop/Deployment/web: the original requests are restored: pods were throttled for"));
  REQUIRE(rig.ladder->alarms().size() == 1);
  CHECK(rig.ladder->alarms()[0].find("shop/Deployment/web were rolled back: pods were throttled") != std::string::npos);
  rig.passes(600);
  CHECK(rig.cores_of() == 2);
  CHECK(rig.order("shadow"));
  REQUIRE(rig.order("canary:50%"));
  CHECK(rig.order("live").error().what.find("were rolled back within a day") != std::string::npos);
}

TEST_CASE("an OOM kill restores the requests") {
  SizingRig rig;
  rig.lower();
  rig.passes(1, 0.5, [](WorkloadValues& values) { values.memory_oom_kills = 1; });
  CHECK(rig.cores_of() == 2);
  CHECK(rig.was_audited("OOM kills since the change"));
}

TEST_CASE("throttling of owners with unchanged requests does not restore requests") {
  SizingRig rig;
  kube::Pod other = RequestRig::pod_of("other", "Deployment/other");
  rig.show(other);
  rig.lower();
  rig.passes(30, 0.5, throttled);
  CHECK_MESSAGE(rig.of().state.rollbacks == 0, rig.of().state.why);
  CHECK(rig.cores_of() < 2);
}

TEST_CASE("a restart continues from the file: lowered owners are known, and a restoration continues") {
  SizingRig rig;
  rig.lower();
  const auto lowered = rig.of().state.lowered.size();
  REQUIRE(lowered == 1);
  rig.start_ladder();
  CHECK(rig.ladder->mode().mode == ModeSetting(Mode::live));
  CHECK(rig.of().state.lowered.size() == lowered);
  CHECK(rig.of().state.original.cpu_cores == 2);
  rig.hand = false;
  REQUIRE(rig.order("off"));
  rig.passes(4);
  CHECK(order_of(rig.of().state).kind == SizingOrderKind::restore);
  CHECK(rig.cores_of() < 2);
  rig.start_ladder();
  CHECK(order_of(rig.of().state).kind == SizingOrderKind::restore);
  rig.hand = true;
  rig.passes(4);
  CHECK(rig.cores_of() == 2);
  CHECK(rig.of().state.lowered.empty());
}

TEST_CASE("OOM kills since a change still count after a restart") {
  SizingRig rig;
  const auto kill = [](WorkloadValues& values) { values.memory_oom_kills = 1; };
  rig.learn();
  rig.passes(1, 0.5, kill);
  rig.passes(7 * 60);  // longer than the pause after usage above the lower request
  REQUIRE(rig.order("live", "test", true));
  for (int i = 0; i < 120 && rig.cores_of() == 2; ++i) rig.pass(0.5);
  REQUIRE(rig.cores_of() < 2);
  REQUIRE(rig.of().state.before.kills == 1);
  rig.passes(1, 0.5, kill);
  rig.passes(11);
  CHECK(rig.cores_of() < 2);
  rig.start_ladder();
  rig.passes(4);
  CHECK(rig.cores_of() < 2);
  rig.passes(1, 0.5, kill);
  CHECK(rig.cores_of() == 2);
  CHECK(rig.was_audited("2 OOM kills since the change"));
}

TEST_CASE("a step of the wall clock neither shortens nor lengthens a pause, also after a restart") {
  using namespace std::chrono_literals;
  const auto play = [](Duration step) {
    SizingRig rig;
    rig.learn();
    REQUIRE(rig.order("live", "test", true));
    for (int i = 0; i < 120 && rig.cores_of() == 2; ++i) rig.pass(0.5);
    std::vector<std::string> seen;
    for (int i = 0; i < 90; ++i) {
      if (i == 5 || i == 40) rig.clock.step_wall(step);
      rig.pass(0.5);
      if (i == 10) rig.start_ladder();
      const placement::OwnerSizing& state = rig.of().state;
      seen.push_back(std::string(to_string(state.state)) + " " + std::to_string(state.steps) + " " + rig.of().waits);
    }
    return seen;
  };
  const std::vector<std::string> plain = play(0s);
  CHECK(plain.front() != plain.back());
  CHECK(play(45min) == plain);
  CHECK(play(-45min) == plain);
}

TEST_CASE("a copy of the file has the same mode and owners, and there is no file before the first order") {
  SizingRig rig;
  const std::string path = rig.dir.file("copy.db");
  CHECK_FALSE(rig.ladder->copy_to(path).value());
  rig.lower();
  rig.start_ladder();
  auto copy = rig.ladder->copy_to(path).value();
  REQUIRE(copy);
  while (!copy->step(1).value()) {
  }
  copy.reset();
  const SizingLadder copied(*rig.book, true, 1, path, rig.clock, rig.log);
  CHECK(copied.mode().mode == rig.ladder->mode().mode);
  CHECK(copied.mode().since_s == rig.ladder->mode().since_s);
  CHECK(copied.mode().who == "operator/ada");
  placement::PackWriter kept, found;
  rig.of().state.pack(kept);
  copied.owner("shop/Deployment/web")->state.pack(found);
  CHECK(rig.of().state.lowered.size() == 1);
  CHECK(found.take() == kept.take());
}

TEST_CASE("a lowering order is on disk before clients can read it") {
  SizingRig rig;
  rig.learn();
  REQUIRE(rig.order("live", "test", true));
  rig.hand = false;
  REQUIRE(rig.ladder->report(R"({"namespace":"shop"})"));
  rig.passes(1);
  REQUIRE(order_of(rig.of().state).kind == SizingOrderKind::lower);
  const placement::SizingOrder before = order_of(rig.of().state);
  rig.start_ladder();
  CHECK(order_of(rig.of().state).pods == before.pods);
  CHECK(order_of(rig.of().state).target.cpu_cores == before.target.cpu_cores);
}

TEST_CASE(
    "without a client that sets requests nothing is lowered, and an owner that the client refuses has the reason") {
  SizingRig rig;
  rig.learn();
  rig.hand = false;
  REQUIRE(rig.order("live", "test", true));
  rig.passes(10);
  CHECK(order_of(rig.of().state).kind == SizingOrderKind::raise);
  CHECK(rig.of().waits.find("no `wattle provision set --follow` has reported for namespace shop") != std::string::npos);
  rig.hand = true;
  rig.reported = R"({"shop/Deployment/web":{"state":"refused","why":"VerticalPodAutoscaler web controls the pod."}})";
  rig.passes(120);
  CHECK(rig.cores_of() == 2);
  CHECK(rig.of().waits == "VerticalPodAutoscaler web controls the pod.");
  rig.reported = "{}";
  rig.passes(10);
  CHECK(rig.cores_of() < 2);
  rig.hand = false;
  rig.passes(10);
  REQUIRE(!rig.ladder->alarms().empty());
  CHECK(rig.ladder->alarms()[0].find("no `wattle provision set --follow` reports from there") != std::string::npos);
  CHECK(rig.ladder->report("[]").error().code == Errc::malformed);
}

TEST_CASE("the annotation decides, and its removal restores the requests") {
  SizingRig rig;
  rig.lower();
  kube::Pod pod = rig.pods.front();
  pod.shrink_allowed = false;
  rig.show(pod);
  rig.passes(2);
  CHECK(rig.cores_of() == 2);
  CHECK(rig.was_audited("annotation wattle.dev/shrink: allowed"));
}

TEST_CASE("a canary changes only owners of its share, one at a time, and the same ones after a restart") {
  std::vector<std::string> owners;
  for (int i = 0; i < 12; ++i) owners.push_back("Deployment/web-" + std::to_string(i));
  SizingRig rig(owners);
  rig.learn();
  REQUIRE(rig.order("canary:50%"));
  const auto changed = [&] {
    std::vector<std::string> names;
    for (const auto& [name, owner] : rig.ladder->owners())
      if (!owner.state.lowered.empty()) names.push_back(name);
    return names;
  };
  const auto settling = [&] {
    return std::count_if(rig.ladder->owners().begin(), rig.ladder->owners().end(), [&](const auto& item) {
      return placement::is_busy(item.second.state, rig.ladder->now_s(), {});
    });
  };
  for (int i = 0; i < 20 * 60; ++i) {
    rig.pass(0.5);
    REQUIRE(settling() <= 1);
  }
  const std::vector<std::string> canary = changed();
  CHECK(canary.size() >= 3);
  CHECK(canary.size() < owners.size());
  for (const std::string& name : canary) CHECK(placement::in_share(name, 1, 0.5));
  rig.start_ladder();
  CHECK(changed() == canary);
}

TEST_CASE("a failed resize is reported with the kubelet's message, restored, and tried again") {
  SizingRig rig;
  rig.learn();
  REQUIRE(rig.order("live", "test", true));
  rig.hand = false;
  REQUIRE(rig.ladder->report(R"({"namespace":"shop"})"));
  rig.passes(1);
  kube::Pod pod = rig.pods.front();
  pod.resize = kube::PodResize::failing;
  pod.resize_message = "memory is in use";
  rig.show(pod);
  rig.passes(1);
  CHECK(rig.was_audited("the kubelet failed to resize a pod: memory is in use"));
  pod.resize = kube::PodResize::none;
  pod.resize_message = "";
  rig.show(pod);
  rig.hand = true;
  rig.passes(2);
  CHECK(rig.of().state.state == SizingState::waiting);
  CHECK(rig.of().waits == "the kubelet failed to resize a pod: memory is in use");
  rig.passes(20);
  CHECK(rig.cores_of() < 2);
}

TEST_CASE("if the file cannot be written, no request is lowered, and a restoring order still applies") {
  SizingRig rig;
  rig.learn();
  rig.ladder = std::make_unique<SizingLadder>(*rig.book, true, 1, "/proc/none/right-sizes.db", rig.clock, rig.log);
  for (const kube::Pod& pod : rig.pods) rig.ladder->described(pod);
  const Status refused = rig.order("shadow");
  CHECK(!refused);
  CHECK(rig.ladder->mode().mode == ModeSetting(Mode::off));
  CHECK(!rig.ladder->problem().empty());
}

TEST_CASE("a damaged file is reported, and no request is changed") {
  SizingRig rig;
  rig.lower();
  const double cores = rig.cores_of();
  rig.ladder.reset();
  std::ofstream(rig.path()) << std::string(8192, 'x');
  rig.start_ladder();
  CHECK(!rig.ladder->problem().empty());
  CHECK(rig.ladder->mode().mode == ModeSetting(Mode::off));
  rig.passes(60);
  CHECK(rig.cores_of() == cores);
}
