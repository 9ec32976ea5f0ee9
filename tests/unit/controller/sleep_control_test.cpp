// sleep_control: which nodes a plan recommends, what forbids it, and what survives a restart.
#include "controller/power/sleep_control.hpp"

#include <doctest/doctest.h>

#include "controller/web/metrics.hpp"
#include "tests/patience.hpp"
#include "tests/unit/common/temp_dir.hpp"
#include "tests/unit/controller/sleep_rig.hpp"
#include "tests/unit/sqlite/crash_disk.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;
using namespace std::chrono_literals;
using json = wattle::SortedJson;
namespace core = wattle::placement::sleep;

namespace {

kube::Pod pod_on(const std::string& uid, const std::string& node, const std::string& labels = "") {
  kube::Pod pod;
  pod.uid = uid;
  pod.name = uid + "-name";
  pod.pod_namespace = "shop";
  pod.node_name = node;
  pod.labels = labels;
  return pod;
}

kube::Node kube_node(const std::string& name, std::map<std::string, std::string> labels) {
  kube::Node node;
  node.name = name;
  node.ready = true;
  node.labels = std::move(labels);
  return node;
}

}  // namespace

TEST_CASE_FIXTURE(SleepRig, "empty nodes with the label could sleep, and the spare stays awake") {
  const core::SleepPlan& made = plan();
  CHECK_FALSE(made.sleeps.empty());
  CHECK(made.sleeps.size() < 6);
  CHECK(made.sleeps.size() + made.kept.size() == 6);
  CHECK(made.watts_after < made.watts);
  CHECK(made.wakes.empty());
}

TEST_CASE("a recommendation shows the whole saving of more than an hour of sleep") {
  SleepRig rig;
  for (int i = 7; i <= 40; ++i) rig.greet("n" + std::to_string(i), {{"wattle.dev/sleep", "recommend"}});
  const std::size_t first = rig.plan().sleeps.size();
  CHECK(first > rig.config.sleep.plan.rules.sleeps_per_hour);
  CHECK(rig.plan().sleeps.size() == first);
}

TEST_CASE_FIXTURE(SleepRig, "a node without the label, or with an invalid value, stays awake") {
  greet("n1", {});
  greet("n2", {{"wattle.dev/sleep", "sometimes"}});
  CHECK(cause("n1") == core::ExcludedFor::mode_off);
  CHECK(cause("n2") == core::ExcludedFor::mode_off);
}

TEST_CASE_FIXTURE(SleepRig, "the label at the API server takes precedence over the agent's") {
  state.adopt("n1", std::make_shared<kube::Node>(kube_node("n1", {{"wattle.dev/sleep", "off"}})));
  CHECK(cause("n1") == core::ExcludedFor::mode_off);
}

TEST_CASE_FIXTURE(SleepRig, "a control-plane node and a silent node stay awake") {
  state.adopt("n1", std::make_shared<kube::Node>(kube_node(
                        "n1", {{"wattle.dev/sleep", "recommend"}, {"node-role.kubernetes.io/control-plane", ""}})));
  state.disconnect("n2");
  CHECK(cause("n1") == core::ExcludedFor::control_plane);
  CHECK(cause("n2") == core::ExcludedFor::not_ready);
}

TEST_CASE_FIXTURE(SleepRig, "a node that others cordon or drain stays awake, and the reason names the drain") {
  kube::Node held = kube_node("n1", {{"wattle.dev/sleep", "recommend"}});
  held.cordoned = true;
  held.drainer.holds = "it is cordoned, not by Wattle";
  state.adopt("n1", std::make_shared<kube::Node>(held));
  CHECK(cause("n1") == core::ExcludedFor::other_drain);
  held.cordoned = false;
  held.drainer = {};
  state.adopt("n1", std::make_shared<kube::Node>(held));
  CHECK(cause("n1") != core::ExcludedFor::other_drain);
}

TEST_CASE_FIXTURE(SleepRig, "the controller's node stays awake, found by its host name or by its pod") {
  begin_control("n3");
  CHECK(cause("n3") == core::ExcludedFor::controller);
  begin_control("wattle-controller-name");
  control->described(pod_on("wattle-controller", "n4"));
  CHECK(cause("n4") == core::ExcludedFor::controller);
  control->gone("wattle-controller");
  CHECK(cause("n4") != core::ExcludedFor::controller);
}

TEST_CASE_FIXTURE(SleepRig, "the node of the last scheduler stays awake") {
  control->described(pod_on("s1", "n1", "component=kube-scheduler,tier=control-plane"));
  CHECK(cause("n1") == core::ExcludedFor::scheduler);
  control->described(pod_on("s2", "n2", "app.kubernetes.io/name=wattle-scheduler"));
  CHECK(cause("n1") != core::ExcludedFor::scheduler);
}

TEST_CASE_FIXTURE(SleepRig, "a pod that must stay keeps its node awake; a DaemonSet's pod does not") {
  kube::Pod bare = pod_on("bare", "n1"), local = pod_on("local", "n2"), kept = pod_on("kept", "n3"),
            daemon = pod_on("daemon", "n4"), apart = pod_on("apart", "n6");
  bare.hold = kube::PodHold::bare;
  local.hold = kube::PodHold::local_volume;
  kept.hold = kube::PodHold::undisruptable;
  apart.hold = kube::PodHold::constrained;
  daemon.hold = kube::PodHold::local_volume;
  daemon.daemonset = true;
  for (const kube::Pod& pod : {bare, local, kept, daemon, apart}) control->described(pod);
  CHECK(cause("n1") == core::ExcludedFor::bare_pod);
  CHECK(cause("n2") == core::ExcludedFor::local_volume);
  CHECK(cause("n3") == core::ExcludedFor::undisruptable_pod);
  CHECK(cause("n4") != core::ExcludedFor::local_volume);
  CHECK(cause("n6") == core::ExcludedFor::constrained_pod);
  bare.node_name = "n5";
  control->described(bare);
  CHECK(cause("n1") != core::ExcludedFor::bare_pod);
  CHECK(cause("n5") == core::ExcludedFor::bare_pod);
}

TEST_CASE_FIXTURE(SleepRig, "samples of a suspended node are fresh, although its clock stood still") {
  report();
  const std::int64_t stopped_ns = to_ns(clock.mono());
  NodeSleep asleep;
  asleep.asleep = true;
  state.sleeps("n1", asleep);
  clock.advance(std::chrono::minutes(2));
  greet("n1", {{"wattle.dev/sleep", "recommend"}});
  Record record =
      record_of("n1", static_cast<std::uint64_t>(clock.mono().time_since_epoch() / std::chrono::seconds(1)));
  record.mono_ns = stopped_ns + record.interval_ns;
  state.apply("n1", record, clock.mono());
  CHECK(state.node("n1")->sampled_at == clock.mono());
}

TEST_CASE_FIXTURE(SleepRig, "late records of an earlier boot do not make the current samples old") {
  report();
  const auto newest = [&](std::uint64_t number) {
    state.apply("n1", record_of("n1", number, 2), clock.mono(), true);
    return state.node("n1")->sampled_at == clock.mono();
  };
  CHECK(newest(1));
  state.apply("n1", record_of("n1", 1'000'000, 1), clock.mono());
  clock.advance(std::chrono::seconds(1));
  CHECK(newest(2));
}

TEST_CASE_FIXTURE(SleepRig, "a waiting pod counts only on nodes that its node selector allows") {
  placement::PodSpec spec;
  spec.uid = spec.name = "w";
  spec.request = {0.5, 0};
  state.pods().describe(spec, false);
  kube::Pod pod;
  pod.uid = pod.name = "w";
  pod.node_terms = {"metadata.name=n9", "wattle.dev/sleep in (auto)"};
  control->described(pod);
  CHECK(plan().unplaceable == std::vector<std::string>{"w"});
  pod.node_terms.emplace_back("metadata.name in (n3)");
  control->described(pod);
  CHECK(plan().unplaceable.empty());
  pod.node_terms = {"?"};  // unreadable: left to its scheduler
  control->described(pod);
  CHECK(plan().unplaceable.empty());
}

TEST_CASE_FIXTURE(SleepRig, "an operator excludes a node, and allows it again") {
  REQUIRE(control->order("sleep-exclude", {{"node", "n1"}, {"why", "disk check"}}, "operator/ann"));
  CHECK(cause("n1") == core::ExcludedFor::operator_);
  REQUIRE(control->order("sleep-exclude", {{"node", "n1"}, {"end", "yes"}}, "operator/ann"));
  CHECK(cause("n1") != core::ExcludedFor::operator_);
  CHECK(control->order("sleep-exclude", {}, "operator/ann").error().code == Errc::malformed);
  CHECK(control->order("sleep-exclude", {{"node", "n1"}, {"end", "no"}}, "operator/ann").error().code ==
        Errc::malformed);
  CHECK(control->order("sleep-more", {{"node", "n1"}}, "operator/ann").error().code == Errc::not_found);
}

TEST_CASE("with sleep off there is no plan and no order") {
  SleepRig rig(core::SleepMode::off);
  rig.clock.advance(power::kPlanEvery);
  CHECK_FALSE(rig.control->tick(rig.state)());
  CHECK_FALSE(rig.control->plan());
  CHECK(rig.get("sleep").value()["mode"] == "off");
  CHECK(finished(metrics_text(rig.parts())).value().find("wattle_controller_sleep_plan") == std::string::npos);
  CHECK(rig.control->order("sleep-exclude", {{"node", "n1"}}, "operator/ann").error().code == Errc::unsupported);
}

TEST_CASE("exclusions and the outlook of demand are in the store, also after a crash") {
  wattle::test::TempDir dir;
  StoreOptions options;
  options.file.path = dir.file("store.db");
  SleepRig rig;
  rig.store = Store::start(options, rig.clock, rig.log).value();
  rig.begin_control();
  rig.plan();
  const Result<std::string> order =
      rig.control->order("sleep-exclude", {{"node", "n1"}, {"why", "disk check"}}, "operator/ann");
  REQUIRE(order);
  CHECK(json::parse(*order)["kept"] == true);
  const std::string outlook = rig.store->read([](StoreFile& file) { return file.sleeps().plan(); }).get().value();
  CHECK_FALSE(outlook.empty());
  // The file as a crash would leave it.
  REQUIRE(rig.store->copy_to(dir.file("copy.db")).get());
  StoreOptions copy;
  copy.file.path = dir.file("copy.db");
  SleepRig later;
  later.store = Store::start(copy, later.clock, later.log).value();
  later.begin_control();
  CHECK(later.control->exclusions() == std::map<std::string, std::string>{{"n1", "disk check"}});
  CHECK(later.store->read([](StoreFile& file) { return file.sleeps().plan(); }).get().value() == outlook);
}

TEST_CASE("an exclusion that a full disk refused is written once there is room") {
  sqlite::testing::CrashDisk disk;
  ManualClock clock;
  const Log log = Log::silent();
  StoreOptions options;
  options.file.path = "store.db";
  options.file.database.vfs = sqlite::testing::CrashDisk::kName;
  const std::unique_ptr<Store> store = Store::start(options, clock, log).value();
  const auto kept = [&store] {
    std::map<std::string, std::string> found;
    REQUIRE(store
                ->read([&found](StoreFile& file) -> Result<std::string> {
                  WATTLE_TRY(found, file.sleeps().exclusions());
                  return std::string();
                })
                .get());
    return found;
  };
  power::ExclusionWriter writer;
  disk.full = true;
  writer.put("n1", "disk check");
  writer.turn(*store, log, clock);
  CHECK(kept().empty());  // a read after the write
  disk.full = false;
  writer.put("n2", "recalled");
  CHECK(tests::wait_until([&] {
    clock.advance(std::chrono::seconds(10));
    writer.turn(*store, log, clock);
    return kept().size() == 2;
  }));
  writer.put("n1", "");
  CHECK(tests::wait_until([&] {
    writer.turn(*store, log, clock);
    return kept() == std::map<std::string, std::string>{{"n2", "recalled"}};
  }));
}

TEST_CASE_FIXTURE(SleepRig, "the document and the metrics of sleep have each node once") {
  CHECK(get("sleep").value()["age_s"].is_null());
  REQUIRE(control->order("sleep-exclude", {{"node", "n1"}, {"why", "disk check"}}, "operator/ann"));
  plan();
  const json document = get("sleep").value();
  CHECK(document["mode"] == "recommend");
  CHECK(document["age_s"].is_number());
  CHECK(document["sleep"].size() + document["awake"].size() == 6);
  CHECK(document["excluded"][0]["name"] == "n1");
  CHECK(document["saved_j_per_day"].get<double>() > 0);
  CHECK(document["drivers"].is_null());
  for (const json& node : document["sleep"]) {
    CHECK(node["depth"] == "suspend");
    CHECK(node["driver"].is_null());
    CHECK(node["probed"] == false);
  }
  const std::string metrics = finished(metrics_text(parts())).value();
  CHECK(metrics.find("wattle_controller_sleep_plan_nodes ") != std::string::npos);
  CHECK(metrics.find("wattle_controller_sleep_plan_awake_nodes{cause=\"operator\"} 1") != std::string::npos);
}

TEST_CASE("a pod that waits for a wake is counted with its whole wait, also over a restart") {
  ManualClock before(MonoTime{} + 1h, wall_from_ns(1'800'000'000'000'000'000));
  power::WakeWaits waits;
  waits.wake_for({"a", "b"}, before.mono());
  before.advance(20s);
  placement::PackWriter out;
  waits.pack(out, before);
  const std::string body = out.take();

  const ManualClock after(MonoTime{} + 5h, before.wall() + 30s);
  placement::PackReader in(body);
  power::WakeWaits restored;
  restored.unpack(in, after);
  REQUIRE(in.done());
  power::SleepTotals totals;
  restored.look([](const std::string& uid) { return uid == "a" ? std::optional(true) : std::nullopt; }, after.mono(),
                totals);
  CHECK(totals.waited_pods == 1);
  CHECK(totals.waited_s == doctest::Approx(50));
  CHECK(restored.empty());
}
