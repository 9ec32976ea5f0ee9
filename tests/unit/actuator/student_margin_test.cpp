// student_margin: a student steers a node's margins as in the simulator, and the rule serves when it cannot.
#include <doctest/doctest.h>

#include <limits>
#include <random>

#include "../models/loud_weights.hpp"
#include "actuator/governor.hpp"
#include "actuator/student_watch.hpp"
#include "kernel_tree.hpp"
#include "models/frozen/frozen_network.hpp"
#include "models/frozen/pretrained.hpp"
#include "models/frozen/safetensors.hpp"
#include "sim/provision/steering.hpp"

using namespace wattle;
using namespace wattle::actuator;
using namespace wattle::actuator::test;
using models::provision::Network;

namespace {
constexpr double kNodeCores = 64;

Network network_of(const models::Weights& weights) {
  const auto network = models::FrozenNetwork::from_weights(weights, 0);
  REQUIRE(network);
  return *network;
}

class NanOutputNetwork final : public models::QNetwork {
 public:
  void residual(const models::Observation&, std::span<float> out) const override {
    std::fill(out.begin(), out.end(), std::numeric_limits<float>::quiet_NaN());
  }
  std::uint64_t step() const override { return 1; }
};

// Always lowers the margin as far as possible.
class AlwaysDown final : public models::QNetwork {
 public:
  void residual(const models::Observation&, std::span<float> out) const override {
    std::fill(out.begin(), out.end(), 0.0F);
    out[models::provision::action_of(models::provision::Lever::cpu, -1)] = 100;
  }
  std::uint64_t step() const override { return 1; }
};

// Readings of one tick with the limit in force.
struct Tick {
  std::uint64_t used_us = 0;
  bool throttled = false;
  double granted_s = 0;
};

// A service on a node with usage and throttling drawn from a seed.
struct Service {
  explicit Service(Network student) : cgroups(tree.mounts(), os) {
    tree.add("/a", "max", "0", "max");
    overwrite(tree.path() + "/proc/stat", "cpu 10 0 0 9990 0 0 0 0 0 0\n");
    auto journal = Journal::open_(tree.state(), "boot-1", os);
    REQUIRE(journal);
    ledger.emplace(std::move(*journal), cgroups);
    auto load = NodeLoad::open_(tree.path() + "/proc", kNodeCores);
    REQUIRE(load);
    Rules rules;
    rules.margin_ratio = 0.3;
    governor.emplace(cgroups, cgroups, *ledger, std::move(*load), rules);
    governor->steer_by(std::move(student));
    governor->orders().own({{"/a", actuation::Level::limits}});
  }
  actuation::Grant grant() const {
    const auto report = governor->report();
    return report.grants.empty() ? actuation::Grant() : report.grants[0];  // no grant before the first tick
  }
  double margin() const { return governor->margin_ratio("/a").value(); }
  void tick() {
    now += std::chrono::milliseconds(100);
    const std::uint64_t minute = periods / 600;
    Tick read;
    read.used_us = (20'000 + 9'000 * (minute % 4)) * (80 + random() % 40) / 100;
    read.throttled = random() % 100 < throttled_percent.value_or(minute * minute % 7);
    used_us += read.used_us;
    ++periods;
    throttled += read.throttled;
    overwrite(tree.root() + "/a/cpu.stat", "usage_usec " + std::to_string(used_us) + "\nnr_periods " +
                                               std::to_string(periods) + "\nnr_throttled " + std::to_string(throttled) +
                                               "\n");
    const auto before = grant();
    if (before.state == actuation::State::set)
      read.granted_s = models::provision::granted_s(*before.granted_cores, 0.1, before.refills - counted_refills);
    counted_refills = before.refills;
    governor->tick(now);
    if (before.state == actuation::State::set) lived.push_back(read);
  }

  KernelTree tree;
  KernelOs os;
  CgroupLimits cgroups;
  std::optional<Ledger> ledger;
  std::optional<Governor> governor;
  std::mt19937_64 random{11};
  std::optional<std::uint64_t> throttled_percent;
  MonoTime now{std::chrono::hours(1)};
  std::uint64_t used_us = 0, periods = 0, throttled = 0, counted_refills = 0;
  std::vector<Tick> lived;
};

// Returns the margins of a service's minutes.
std::vector<double> margins_on_the_node(Service& service, std::size_t minutes) {
  std::vector<double> margins;
  while (margins.size() < minutes) {
    const std::size_t before = service.lived.size();
    service.tick();
    if (service.lived.size() > before && service.lived.size() % 600 == 0) margins.push_back(service.margin());
  }
  return margins;
}

class Recorded final : public sim::provision::Steering {
 public:
  explicit Recorded(Network student) : student_(std::move(student), true) {}
  models::provision::Setting minute(std::size_t service, const sim::provision::MinuteOfService& seen) override {
    const auto next = student_.minute(service, seen);
    margins.push_back(next.margin_ratio);
    return next;
  }
  std::vector<double> margins;

 private:
  sim::provision::NetworkSteering student_;
};

// Replays the same readings to the simulator's service.
std::vector<double> margins_in_the_simulator(const Network& student, const std::vector<Tick>& lived) {
  namespace sim = wattle::sim::provision;
  Recorded steering(student);
  sim::WorldOptions world;
  world.cores = kNodeCores;
  sim::Steered services(world, {}, steering);
  const sim::MinuteReading minute;
  double now_s = 0;
  std::vector<std::optional<CpuLimit>> next(1);
  for (std::size_t i = 0; i < lived.size(); ++i) {
    now_s += 0.1;
    const sim::ServiceReading reading{
        static_cast<double>(lived[i].used_us) / 1e6, lived[i].throttled, CpuLimit{}, true, lived[i].granted_s, 0, 0};
    services.tick({now_s, 0.1, kNodeCores, 0.1, {&reading, 1}, i % 600 == 599 ? &minute : nullptr}, next);
  }
  return steering.margins;
}
}  // namespace

TEST_CASE("a student decides on a node as in the simulator, bit for bit, and differently from the rule") {
  constexpr std::size_t kMinutes = 12;
  const Network student = network_of(wattle::test::loud_weights());
  Service steered(student), ruled(nullptr);
  const auto margins = margins_on_the_node(steered, kMinutes);
  CHECK(margins == margins_in_the_simulator(student, steered.lived));
  CHECK(margins != margins_on_the_node(ruled, kMinutes));
  CHECK(steered.governor->take_troubles().empty());
}

TEST_CASE("if a student's output is not a number the rule serves, and that is reported once") {
  Service broken(std::make_shared<NanOutputNetwork>()), ruled(nullptr);
  CHECK(margins_on_the_node(broken, 5) == margins_on_the_node(ruled, 5));
  const auto troubles = broken.governor->take_troubles();
  REQUIRE(troubles.size() == 1);
  CHECK(troubles[0].subject == "rules.student");
  CHECK(broken.grant().state == actuation::State::set);
}

TEST_CASE("a student that lets a service be throttled too often is not used for it until a new student arrives") {
  Service bad(std::make_shared<AlwaysDown>()), good(std::make_shared<AlwaysDown>());
  bad.throttled_percent = 80;
  good.throttled_percent = 5;
  std::size_t minutes = 0;
  for (Service* service : {&bad, &good}) CHECK(service->governor->student_out() == 0);
  while (bad.governor->student_out() == 0 && minutes < 60) minutes += margins_on_the_node(bad, 1).size();
  CHECK(minutes > 5);
  CHECK(minutes < 40);
  const double low = bad.margin();
  CHECK(low < 0.3);  // the rule had the last minute
  const auto troubles = bad.governor->take_troubles();
  REQUIRE(troubles.size() == 1);
  CHECK(troubles[0].subject == "rules.student");
  CHECK(troubles[0].what.find("allowed throttling of /a in ") != std::string::npos);
  margins_on_the_node(bad, 3);
  CHECK(bad.margin() > low + 0.5);  // the rule's value
  CHECK(bad.governor->take_troubles().empty());
  margins_on_the_node(good, 40);
  CHECK(good.governor->student_out() == 0);
  CHECK(good.margin() < 0);
  bad.governor->steer_by(std::make_shared<AlwaysDown>());
  CHECK(bad.governor->student_out() == 0);
  const double high = bad.margin();
  margins_on_the_node(bad, 3);
  CHECK(bad.margin() < high);
}

TEST_CASE("a student is not used if requests are known") {
  const Network student = network_of(wattle::test::loud_weights());
  Service steered(student), ruled(nullptr);
  for (Service* service : {&steered, &ruled}) service->governor->orders().own({});
  for (int second = 0; second < 200; ++second)
    for (Service* service : {&steered, &ruled}) {
      const auto answered = static_cast<std::uint64_t>(second);
      service->governor->orders().receive(
          {std::nullopt,
           {{"/a", actuation::Level::limits, actuation::Requests{100 * answered, answered}}},
           std::nullopt},
          service->now);
      for (int i = 0; i < 10; ++i) service->tick();
    }
  CHECK(steered.margin() > 0.4);
  CHECK(steered.margin() == ruled.margin());
}

TEST_CASE("a replaced student file is read again; a bad or missing one is reported once and leaves no student") {
  const KernelTree tree;
  const std::string path = tree.path() + "/student.safetensors";
  const auto put = [&](const models::Weights& weights, const char* whose) {
    models::Safetensors model{weights, {}};
    model.metadata["provisioning"] = whose;
    model.metadata["layout"] = models::provision::kLayout;
    model.metadata["network_sha256"] = models::network_digest(weights);
    REQUIRE(write_file_atomically(path, models::to_safetensors(model), 0600));
  };
  CHECK(StudentWatch::open_(path).error().code == Errc::not_found);
  put(wattle::test::loud_weights(), "teacher");
  CHECK(StudentWatch::open_(path).error().code == Errc::conflict);
  StudentWatch lenient(path);  // the agent's file
  CHECK_FALSE(lenient.look(MonoTime{std::chrono::hours(1)}));
  CHECK_FALSE(lenient.network());
  put(wattle::test::loud_weights(), "student");
  CHECK(lenient.look(MonoTime{std::chrono::hours(2)}) == true);
  CHECK(lenient.network());
  auto watch = StudentWatch::open_(path);
  REQUIRE(watch);
  const Network first = watch->network();
  CHECK(first);
  MonoTime now{std::chrono::hours(1)};
  const auto look = [&] { return watch->look(now += std::chrono::minutes(1)); };
  CHECK(look() == false);
  put(models::initial_weights(2), "student");
  CHECK(look() == true);
  CHECK(watch->network() != first);
  CHECK(watch->network());
  put(models::initial_weights(3), "teacher");
  CHECK_FALSE(look());
  CHECK_FALSE(watch->network());
  CHECK(look() == false);
  put(models::initial_weights(4), "student");
  CHECK(look() == true);
  CHECK(watch->network());
  std::filesystem::remove(path);
  CHECK_FALSE(look());
  CHECK_FALSE(watch->network());
  CHECK(look() == false);
}
