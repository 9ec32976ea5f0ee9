// sleep_auto: mode auto of sleep_control: opt-in and proof, the plan's wakes, the view of other parts on a sleeping
// node, and a restart in another mode.
#include <doctest/doctest.h>

#include "common/wire/codec.hpp"
#include "tests/unit/common/temp_dir.hpp"
#include "tests/unit/controller/cycle_rig.hpp"
#include "tests/unit/controller/fake_power.hpp"
#include "tests/unit/controller/sleep_rig.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;
using power::FakePower;
using json = wattle::SortedJson;
namespace core = wattle::placement::sleep;
using State = core::PowerState;

namespace {

// Six nodes with the label auto, drivers for all, a store, and agents that agree to sleep.
struct AutoRig : SleepRig {
  wattle::test::TempDir dir;
  std::shared_ptr<FakePower> machines = std::make_shared<FakePower>();
  std::map<std::string, std::uint64_t> promised;
  std::vector<std::string> features;                                // of the agents
  std::map<std::string, std::vector<std::uint64_t>> shallow_for_s;  // orders by node

  AutoRig() : SleepRig(core::SleepMode::automatic) {
    power::PowerConfig file;
    for (int i = 1; i <= 6; ++i) {
      const std::string name = "n" + std::to_string(i);
      machines->add(name);
      greet_auto(name);
    }
    power::NodeDrivers item;
    item.sleep = item.wake = item.observe = power::DriverKind::exec;
    file.nodes.push_back(item);
    config.sleep.drivers_file = "drivers.yaml";
    config.sleep.drivers = std::make_shared<const power::PowerConfig>(std::move(file));
    drivers = machines;
    StoreOptions options;
    options.file.path = dir.file("store.db");
    store = Store::start(options, clock, log).value();
    begin();
  }
  ~AutoRig() { control.reset(); }
  void greet_auto(const std::string& name) {
    wire::Hello hello = hello_of(name);
    hello.labels = {{"wattle.dev/sleep", "auto"}};
    hello.features = features;
    state.greet(hello);
    if (control) control->greeted(hello);
  }
  void begin(core::SleepMode mode = core::SleepMode::automatic) {
    control.reset();
    config.sleep.mode = mode;
    begin_control();
    for (int i = 1; i <= 6; ++i) {
      const auto* node = state.node("n" + std::to_string(i));
      if (node != nullptr && node->connected) control->greeted(node->hello);
    }
    control->on_send([this](const std::string& node, const wire::SleepOrder& order) -> Status {
      if (order.depth == power::kShallow)
        shallow_for_s[node].push_back(order.wake_after_s);
      else if (!order.granted)
        promised[node] = order.operation;
      return {};
    });
  }
  // Advances the clock, with telemetry of all nodes that are on.
  void moment(Duration by = std::chrono::milliseconds(200)) {
    clock.advance(by);
    for (int i = 1; i <= 6; ++i) {
      const std::string name = "n" + std::to_string(i);
      const auto* node = state.node(name);
      if (machines->machine(name).state != power::PowerState::on) {
        if (node != nullptr && node->connected) state.disconnect(name);
        continue;
      }
      if (node == nullptr || !node->connected) greet_auto(name);
      const auto tick = static_cast<std::uint64_t>(clock.mono().time_since_epoch() / std::chrono::milliseconds(200));
      state.apply(name, record_of(name, tick), clock.mono());
    }
    // The clock stands still during calls and writes, so their real duration does not matter.
    REQUIRE(tests::wait_until([this] {
      finish(control->tick(state));
      return !control->busy();
    }));
    for (const auto& [node, operation] : std::exchange(promised, {})) control->goodbye(node, {operation, ""});
  }
  bool until(const std::function<bool()>& event) {
    return tests::wait_until([&] {
      moment();
      return event();
    });
  }
  State state_of(const std::string& node) {
    const auto found = control->records().find(node);
    return found == control->records().end() ? State::unknown : found->second.state;
  }
  // Returns why the last plan keeps nodes awake, for failure messages.
  std::string reasons() const {
    std::string text;
    if (control->plan())
      for (const core::KeptAwake& each : control->plan()->plan.kept) text += each.node + " " + each.why.reason + "; ";
    for (const auto& [name, record] : control->records())
      text += name + " " + std::string(to_string(record.state)) + " " + record.reason + "; ";
    return text;
  }
  // Returns the cause in the last plan.
  core::ExcludedFor cause_of(const std::string& node) const {
    for (const core::KeptAwake& each : control->plan()->plan.kept)
      if (each.node == node) return each.why.cause;
    return core::ExcludedFor::none;
  }
  // Waits until at least `least` nodes sleep.
  void nodes_sleep(std::size_t least) {
    const bool slept = until([&] { return asleep() >= least; });
    INFO(reasons());
    REQUIRE(slept);
  }
  std::size_t asleep() const {
    return static_cast<std::size_t>(std::count_if(control->records().begin(), control->records().end(),
                                                  [](const auto& item) { return item.second.state == State::asleep; }));
  }
  Result<std::string> order(const std::string& what, const std::map<std::string, std::string>& arguments) {
    return control->order(what, arguments, "operator/ann");
  }
  // Lets each node prove that it wakes.
  void prove() {
    config.sleep.plan.rules.proven_round_trips = 1;
    config.sleep.plan.rules.stay_awake = std::chrono::seconds(0);
    begin();
    REQUIRE(until([this] { return control->plans() > 0; }));
    for (int i = 1; i <= 6; ++i) {
      const std::string name = "n" + std::to_string(i);
      REQUIRE(until([&] { return order("sleep-now", {{"node", name}}).has_value(); }));
      REQUIRE(until([&] { return control->records().at(name).round_trips == 1 && state_of(name) == State::awake; }));
    }
  }
};

}  // namespace

TEST_CASE("auto: no node sleeps before an operator's order has proven its round trips") {
  AutoRig rig;
  REQUIRE(rig.until([&] { return rig.control->plans() > 1; }));
  CHECK(rig.cause_of("n1") == core::ExcludedFor::unproven);
  CHECK(rig.asleep() == 0);
  CHECK(rig.order("sleep-now", {}).error().code == Errc::malformed);
  CHECK(rig.order("sleep-now", {{"node", "n9"}}).error().code == Errc::not_found);
  const auto begun = rig.order("sleep-now", {{"node", "n1"}});
  REQUIRE(begun);
  CHECK(json::parse(*begun)["proven_trips"] == 3);
  CHECK(json::parse(*begun)["round_trips"] == 0);
  REQUIRE(rig.until([&] { return rig.control->records().at("n1").round_trips == 1; }));
  CHECK(rig.machines->machine("n1").slept.size() == 1);
  CHECK(rig.machines->machine("n1").woken.size() == 1);
  CHECK(rig.control->totals().cycles == 1);
  CHECK(rig.control->history().size() >= 6);
}

TEST_CASE("auto: proven nodes sleep, other parts see it, and waiting pods wake them") {
  AutoRig rig;
  rig.prove();
  rig.nodes_sleep(1);
  std::string sleeper;
  for (const auto& [name, record] : rig.control->records())
    if (record.state == State::asleep) sleeper = name;
  REQUIRE(rig.until([&] { return rig.state.node_view(sleeper)->asleep; }));
  CHECK_FALSE(rig.state.node_view(sleeper)->ready);
  CHECK(rig.state.node_view(sleeper)->wake_cost_j > 0);
  CHECK(mask_reason(*rig.state.node_view(sleeper), {}, {}) == "not ready");
  // More pods than fit on the awake nodes.
  const double cores = rig.state.node_view(sleeper)->allocatable.cpu_cores;
  for (int i = 0; i < 6; ++i) {
    placement::PodSpec pod;
    pod.uid = "p" + std::to_string(i);
    pod.name = pod.uid;
    pod.request = {cores, 0};
    rig.state.pods().ask(pod, 0, false, rig.clock.mono());
  }
  const MonoTime wanted = rig.clock.mono();
  REQUIRE(rig.until([&] { return rig.asleep() == 0; }));
  CHECK(rig.clock.mono() - wanted < power::kPlanAsleep);  // long before the next regular plan
  REQUIRE(rig.until([&] { return rig.state_of(sleeper) == State::awake; }));
  REQUIRE(rig.until([&] { return rig.state.node_view(sleeper)->ready; }));
  CHECK_FALSE(rig.state.node_view(sleeper)->asleep);
  rig.state.pods().bind("p0", sleeper, false, rig.clock.mono());
  rig.moment(power::kLookEvery);
  CHECK(rig.control->totals().waited_pods <= 1);
}

TEST_CASE("auto: pods of an API server wake nodes, both waiting and unschedulable ones") {
  AutoRig rig;
  for (const bool unschedulable : {false, true}) {
    placement::PodSpec pod;
    pod.uid = pod.name = unschedulable ? "refused" : "waits";
    rig.state.pods().describe(pod, unschedulable);
  }
  power::SleepSnapshot snapshot;
  power::RefusedPods refused;
  add_pending(snapshot, rig.state, true, refused);
  CHECK(snapshot.pending.size() == 2);
}

TEST_CASE("auto: sleep-wake wakes one node or all, also in mode recommend, and mode off wakes all at once") {
  AutoRig rig;
  rig.prove();
  rig.nodes_sleep(2);
  REQUIRE(rig.until([&] {  // no transition is in progress
    return std::all_of(rig.control->records().begin(), rig.control->records().end(),
                       [](const auto& item) { return takes_pods(item.second) || item.second.state == State::asleep; });
  }));
  const std::size_t sleepers = rig.asleep();
  CHECK(rig.order("sleep-wake", {}).error().code == Errc::malformed);
  CHECK(rig.order("sleep-wake", {{"node", "n9"}}).error().code == Errc::not_found);
  CHECK(rig.order("sleep-wake", {{"all", "no"}}).error().code == Errc::malformed);
  rig.begin(core::SleepMode::recommend);
  INFO(rig.reasons());
  // The last transition may not be in the store when the controller ends.
  REQUIRE(rig.until([&] { return rig.asleep() == sleepers; }));
  for (int i = 0; i < 30; ++i) rig.moment();
  CHECK(rig.asleep() == sleepers);
  CHECK(rig.order("sleep-now", {{"node", "n1"}}).error().code == Errc::unsupported);
  const auto woken = rig.order("sleep-wake", {{"all", "yes"}});
  REQUIRE(woken);
  CHECK(json::parse(*woken)["woken"].size() == sleepers);
  REQUIRE(rig.until([&] { return rig.asleep() == 0; }));
  REQUIRE(rig.until([&] {
    return std::all_of(rig.control->records().begin(), rig.control->records().end(),
                       [](const auto& item) { return takes_pods(item.second); });
  }));
  // After the last record is on disk.
  REQUIRE(rig.until([&] {
    rig.begin(core::SleepMode::recommend);
    return rig.control->records().empty();
  }));
  rig.begin();
  rig.nodes_sleep(1);
  rig.begin(core::SleepMode::off);
  REQUIRE(rig.until([&] { return rig.asleep() == 0; }));
}

TEST_CASE("auto: sleep-empty requests a plan at once, and follows it") {
  AutoRig rig;
  CHECK(rig.order("sleep-empty", {}).error().code == Errc::malformed);
  CHECK(rig.order("sleep-empty", {{"node", "n9"}}).error().code == Errc::not_found);
  std::optional<Result<std::string>> last;
  const auto decided = [&](const std::string& node) {
    REQUIRE(rig.until([&] {
      last = rig.order("sleep-empty", {{"node", node}});
      return last->has_value() || last->error().code != Errc::unavailable;
    }));
    return last->has_value();
  };
  REQUIRE(rig.until([&] { return rig.control->plans() > 0; }));
  CHECK_FALSE(decided("n1"));
  CHECK(last->error().code == Errc::conflict);
  CHECK(last->error().message().find("0 of 3 proven round trips") != std::string::npos);
  CHECK(rig.state_of("n1") == State::awake);
  rig.prove();
  placement::PodSpec pod;
  pod.uid = pod.name = "web-1";
  rig.state.pods().describe(pod, false);
  rig.state.pods().bind(pod.uid, "n2", false, rig.clock.mono());
  rig.nodes_sleep(1);
  REQUIRE(rig.until([&] { return rig.state_of("n2") == State::awake; }));  // woken for its pod if it slept
  CHECK_FALSE(decided("n2"));
  CHECK(last->error().code == Errc::conflict);
  CHECK(last->error().message().find("stays awake: ") != std::string::npos);
  CHECK(rig.state_of("n2") == State::awake);
  for (const auto& [name, record] : rig.control->records())
    if (record.state == State::asleep)
      for (int i = 0; i < 2; ++i) CHECK(rig.order("sleep-empty", {{"node", name}}).has_value());
  rig.begin(core::SleepMode::recommend);
  CHECK(rig.order("sleep-empty", {{"node", "n1"}}).error().code == Errc::unsupported);
}

TEST_CASE("auto: a new plan decides on an order for a node that has just become empty") {
  AutoRig rig;
  rig.prove();
  rig.config.sleep.plan.rules.sleeps_per_hour = 0;
  rig.begin();
  REQUIRE(rig.until([&] { return rig.control->plans() > power::kFirstPlans && rig.control->plan(); }));
  if (rig.state_of("n1") != State::awake) REQUIRE(rig.order("sleep-wake", {{"node", "n1"}}));
  REQUIRE(rig.until([&] { return rig.state_of("n1") == State::awake; }));
  REQUIRE(rig.until([&] { return rig.control->plan()->at < rig.clock.mono(); }));
  const std::size_t plans = rig.control->plans();
  const MonoTime ordered = rig.clock.mono();
  REQUIRE(rig.until([&] {
    const auto answer = rig.order("sleep-empty", {{"node", "n1"}});
    return !answer && answer.error().code == Errc::conflict;
  }));
  CHECK(rig.control->plans() > plans);
  CHECK(rig.clock.mono() - ordered < power::kPlanSoon);
}

TEST_CASE("auto: a controller that starts while nodes sleep knows them, although their agents are silent") {
  AutoRig rig;
  rig.prove();
  rig.nodes_sleep(1);
  rig.begin();
  std::set<std::string> known;
  for (const wire::Hello& hello : rig.control->remembered()) {
    known.insert(hello.node);
    CHECK(hello.cpu_cores > 0);
    CHECK(hello.labels.at("wattle.dev/sleep") == "auto");
  }
  for (const auto& [name, record] : rig.control->records()) CHECK(known.contains(name) == !takes_pods(record));
}

TEST_CASE(
    "auto: a test continues after a restart once the pods are known, but not in another mode or on an excluded node") {
  AutoRig rig;
  bool known = true;
  rig.pods_read = [&] { return known; };
  rig.config.sleep.plan.rules.proven_round_trips = 1;
  const auto restart_in_test = [&](core::SleepMode mode, const char* why) {
    rig.begin();
    known = true;
    REQUIRE(rig.until([&] { return rig.state_of("n1") == State::awake && rig.control->plan(); }));
    REQUIRE(rig.until([&] { return rig.order("sleep-now", {{"node", "n1"}}).has_value(); }));
    rig.moment();
    REQUIRE(rig.state_of("n1") == State::idle);
    if (*why != '\0') {  // the exclusion reaches the disk, its effect does not
      rig.store
          ->read([&](StoreFile& file) -> Result<std::string> {
            WATTLE_CHECK(file.sleeps().exclude("n1", why, 1));
            return std::string();
          })
          .wait();
    }
    known = false;
    rig.begin(mode);
    for (int i = 0; i < 100; ++i) rig.moment();
  };
  restart_in_test(core::SleepMode::recommend, "");
  CHECK(rig.state_of("n1") != State::idle);
  CHECK(rig.machines->machine("n1").slept.empty());
  restart_in_test(core::SleepMode::automatic, "");
  CHECK(rig.state_of("n1") == State::idle);
  known = true;
  REQUIRE(rig.until([&] { return rig.control->records().at("n1").round_trips == 1; }));
  const std::size_t slept = rig.machines->machine("n1").slept.size();
  restart_in_test(core::SleepMode::automatic, "disk check");
  known = true;
  REQUIRE(rig.until([&] { return rig.state_of("n1") == State::awake; }));
  for (int i = 0; i < 100; ++i) rig.moment();
  CHECK(rig.machines->machine("n1").slept.size() == slept);
}

TEST_CASE("auto: an excluded node wakes and stays awake") {
  AutoRig rig;
  rig.prove();
  rig.nodes_sleep(1);
  std::string sleeper;
  for (const auto& [name, record] : rig.control->records())
    if (record.state == State::asleep) sleeper = name;
  REQUIRE(rig.order("sleep-exclude", {{"node", sleeper}, {"why", "disk check"}}));
  REQUIRE(rig.until([&] { return rig.state_of(sleeper) == State::awake; }));
  for (int i = 0; i < 60; ++i) rig.moment();
  CHECK(rig.state_of(sleeper) == State::awake);
  // Without the exclusion the node counts in a plan that is made at once.
  rig.control->wake("", "operator/ann");
  REQUIRE(rig.until([&] { return rig.asleep() == 0 && !rig.control->busy(); }));
  const std::size_t plans = rig.control->plans();
  const MonoTime allowed = rig.clock.mono();
  REQUIRE(rig.order("sleep-exclude", {{"node", sleeper}, {"end", "yes"}}));
  REQUIRE(rig.until([&] { return rig.control->plans() > plans; }));
  CHECK(rig.clock.mono() - allowed <= power::kPlanSoon);
}

TEST_CASE("auto: an agent that is too old to agree keeps its node awake") {
  AutoRig rig;
  wire::Hello old = hello_of("n1");
  old.version_max = wire::kSleepSince - 1;
  old.labels = {{"wattle.dev/sleep", "auto"}};
  rig.state.greet(old);
  REQUIRE(rig.until([&] { return rig.control->plan() && rig.cause_of("n1") == core::ExcludedFor::no_driver; }));
}

TEST_CASE("auto: without a way to mark nodes at the API server, no node sleeps") {
  AutoRig rig;
  CHECK(rig.order("sleep-now", {{"node", "n1"}}).error().code == Errc::unavailable);  // no plan yet
  rig.control = std::make_unique<power::SleepControl>(power::SleepControl::Around{
      rig.config.sleep, *rig.store, rig.rollout, rig.clock, rig.log, "elsewhere", kube::ApiServer{}, 5, rig.machines});
  CHECK(rig.order("sleep-now", {{"node", "n1"}}).error().code == Errc::unsupported);
}

TEST_CASE("auto: an eviction by another program is the reason to leave the node alone, and counts in the store") {
  AutoRig rig;
  REQUIRE(rig.until([&] { return rig.control->plans() > 0 && rig.state_of("n1") == State::awake; }));
  kube::Pod pod;
  pod.uid = pod.name = "web-1";
  pod.pod_namespace = "shop";
  pod.replica_of = "shop/ReplicaSet/web";
  pod.node_name = "n1";
  rig.control->described(pod);
  pod.leaving = pod.evicted = true;
  rig.control->described(pod);
  rig.control->described(pod);
  const auto reason = [&]() -> std::string {
    placement::PodSpec spec;
    spec.uid = "p1";
    rig.decider->placements().described(spec);
    rig.decider->placements().bound("p1", "n1", false);
    const std::size_t before = rig.control->plans();
    REQUIRE(rig.until([&] { return rig.control->plans() > before; }));
    for (const core::KeptAwake& each : rig.control->plan()->plan.kept)
      if (each.node == "n1") return each.why.reason;
    return {};
  };
  rig.config.sleep.plan.rules.proven_round_trips = 0;
  CHECK(reason() == "another program evicted pod shop/web-1 from it less than 10 min ago");
}

TEST_CASE("auto: without an API server the plan names the unit, its node and its target, and moves nothing") {
  AutoRig rig;
  rig.config.sleep.plan.rules.proven_round_trips = 0;
  rig.begin();
  for (int i = 1; i <= 6; ++i) {
    placement::PodSpec unit;
    unit.uid = "p" + std::to_string(i);
    unit.name = "web-" + std::to_string(i) + ".service";
    unit.request = {0.5, 1e9};
    rig.decider->placements().described(unit);
    rig.decider->placements().bound(unit.uid, "n" + std::to_string(i), false);
  }
  std::optional<core::SleepChoice> drain;
  const bool planned = rig.until([&] {
    if (rig.control->plan())
      for (const core::SleepChoice& each : rig.control->plan()->plan.sleeps)
        if (!each.moves.empty()) drain = each;
    return drain.has_value();
  });
  INFO(rig.reasons());
  REQUIRE(planned);
  REQUIRE(drain->moves.size() == 1);
  CHECK(drain->moves[0].name == "web-" + drain->node.substr(1) + ".service");
  CHECK(drain->moves[0].target != drain->node);
  const json document = rig.get("sleep").value();
  CHECK(document["moves_pods"] == false);
  const std::size_t plans = rig.control->plans();
  REQUIRE(rig.until([&] { return rig.control->plans() >= plans + 2; }));
  for (int i = 1; i <= 6; ++i) CHECK(rig.state_of("n" + std::to_string(i)) == State::awake);
  rig.decider->placements().deleted(drain->moves[0].pod);  // the operator moves it
  const bool sleeps = rig.until([&] { return rig.state_of(drain->node) == State::asleep; });
  INFO(rig.reasons());
  CHECK(sleeps);
}

TEST_CASE("auto: the configuration refuses mode auto without drivers or without a store") {
  const std::string keys = "key: k\nallow_list: a\n";
  const auto none = parse_config(keys + "sleep: {mode: auto}\n", "controller.yaml");
  REQUIRE_FALSE(none);
  CHECK(none.error().message().find("set sleep.drivers") != std::string::npos);
  const auto storeless = parse_config(keys + "sleep: {mode: auto}\nstore: {path: \"\"}\n", "controller.yaml");
  REQUIRE_FALSE(storeless);
  CHECK(storeless.error().message().find("set store.path") != std::string::npos);
  CHECK_FALSE(parse_config(keys + "sleep: {proven_trips: 0}\n", "controller.yaml"));
}

TEST_CASE("auto: an idle node that stays awake gets a shallow order each minute, until it is to sleep or gets a pod") {
  AutoRig rig;
  rig.features = {std::string(power::kShallow)};
  for (const char* name : {"n1", "n2"}) rig.greet_auto(name);
  REQUIRE(rig.until([&] { return rig.shallow_for_s.contains("n1") && rig.shallow_for_s.contains("n2"); }));
  CHECK(rig.reasons().find("n1 it has 0 of 3 proven round trips (shallow)") != std::string::npos);
  CHECK(rig.shallow_for_s.size() == 2);
  CHECK(rig.shallow_for_s["n1"] == std::vector<std::uint64_t>{180});
  const MonoTime until = rig.clock.mono() + power::kRepeatEvery;
  REQUIRE(rig.until([&] { return rig.shallow_for_s["n1"].size() == 2; }));
  CHECK(rig.clock.mono() >= until - std::chrono::seconds(1));
  REQUIRE(rig.order("sleep-now", {{"node", "n1"}}));
  CHECK(rig.shallow_for_s["n1"].back() == 0);
  placement::PodSpec pod;
  pod.uid = pod.name = "web-1";
  rig.state.pods().describe(pod, false);
  rig.state.pods().bind(pod.uid, "n2", false, rig.clock.mono());
  rig.moment(power::kLookEvery);
  CHECK(rig.shallow_for_s["n2"].back() == 0);
}

TEST_CASE("auto: excluding a node ends its shallow order at once") {
  AutoRig rig;
  rig.features = {std::string(power::kShallow)};
  rig.greet_auto("n1");
  REQUIRE(rig.until([&] { return rig.shallow_for_s.contains("n1"); }));
  REQUIRE(rig.order("sleep-exclude", {{"node", "n1"}, {"why", "disk check"}}));
  CHECK(rig.shallow_for_s["n1"].back() == 0);
}
