#include "agent/provisioning.hpp"

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "common/seqpacket.hpp"
#include "tree.hpp"

using namespace wattle;
using namespace wattle::agent;
using actuation::Level;

namespace {
Sample three_workloads() {
  Sample sample;
  for (const auto& [kind, name] :
       {std::pair(WorkloadKind::service, "a.service"), std::pair(WorkloadKind::service, "b.service"),
        std::pair(WorkloadKind::pod, "5eed")}) {
    WorkloadValues workload;
    workload.kind = kind;
    workload.name = name;
    sample.record.workloads.push_back(workload);
    sample.paths.push_back(std::string("/") + name);
  }
  sample.record.node.cpu_cores = 4;
  sample.record.node.cpu_used_cores = 1;
  return sample;
}

// An actuator with scripted answers.
class Peer {
 public:
  explicit Peer(const std::string& path) : listener_(::socket(AF_UNIX, SOCK_SEQPACKET, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, path.size());
    REQUIRE(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    REQUIRE(::listen(listener_.get(), 4) == 0);
  }
  void accept() {
    peer_ = Fd(::accept(listener_.get(), nullptr, nullptr));
    REQUIRE(peer_.valid());
  }
  actuation::Orders hear() {
    const auto text = receive_packet(peer_, actuation::kMaxMessageBytes, std::chrono::seconds(10));
    REQUIRE((text && *text));
    const auto orders = actuation::parse_orders(**text);
    REQUIRE(orders);
    return *orders;
  }
  void say(std::string_view text) { REQUIRE(send_packet(peer_, text)); }

 private:
  Fd listener_, peer_;
};
}  // namespace

TEST_CASE("named services have level limits, the rest the general level, and pods never limits") {
  Sample sample = three_workloads();
  ProvisioningConfig config{"/s", {"b.service", "5eed"}};
  const auto orders = orders_of(config, sample);
  CHECK(orders.headroom_cores == 3);
  CHECK(orders.orders == std::vector<actuation::Order>{
                             {"/b.service", Level::limits}, {"/a.service", Level::suggest}, {"/5eed", Level::suggest}});
  config.protect = {"a.service"};
  CHECK(orders_of(config, sample).orders[0] == actuation::Order{"/a.service", Level::protect});
  config.protect = {};
  sample.record.workloads[0].ended = true;
  CHECK(orders_of(config, sample).orders ==
        std::vector<actuation::Order>{{"/b.service", Level::limits}, {"/5eed", Level::suggest}});
}

TEST_CASE("a pod has the level of its annotation, and limits only if the configuration permits them for pods") {
  const Sample sample = three_workloads();
  ProvisioningConfig config{"/s", {}};
  const auto of_pod = [&](const char* level) {
    for (const auto& order : orders_of(config, sample, {}, {{"5eed", level}, {"a.service", "limits"}}).orders) {
      if (order.path == "/5eed") return order.level;
      CHECK(order.level == Level::suggest);  // other workloads are not pods, whatever their name
    }
    return Level::off;
  };
  CHECK(of_pod("limits") == Level::suggest);
  CHECK(of_pod("protect") == Level::suggest);
  CHECK(of_pod("off") == Level::off);
  CHECK(of_pod("nonsense") == Level::suggest);
  config.pod_limits = true;
  CHECK(of_pod("limits") == Level::limits);
  CHECK(of_pod("protect") == Level::protect);
  CHECK(of_pod("suggest") == Level::suggest);
  CHECK(orders_of(config, sample, {}, {{"5eed", "limits"}}).orders.front().path == "/5eed");
}

TEST_CASE("known requests go to the service of that name at any level, and never to a pod") {
  const Sample sample = three_workloads();
  const actuation::Requests web{100, 3};
  const auto orders = orders_of({"/s", {"b.service"}}, sample,
                                {{"b.service", web}, {"a.service", {7, 7}}, {"5eed", {9, 9}}, {"z.service", {1, 1}}});
  CHECK(orders.orders == std::vector<actuation::Order>{{"/b.service", Level::limits, web},
                                                       {"/a.service", Level::suggest, actuation::Requests{7, 7}},
                                                       {"/5eed", Level::suggest}});
}

TEST_CASE("with very many workloads the named ones are reported") {
  Sample sample = three_workloads();
  for (int i = 0; i < 400; ++i) {
    sample.record.workloads.push_back(sample.record.workloads[0]);
    sample.record.workloads.back().name = "s" + std::to_string(i);
    sample.paths.push_back("/s" + std::to_string(i));
  }
  const auto orders = orders_of({"/s", {"s399"}}, sample);
  CHECK(orders.orders.size() == actuation::kMaxWorkloads);
  CHECK(orders.orders[0] == actuation::Order{"/s399", Level::limits});
}

TEST_CASE("the actuator gets orders at each tick, its answers are summed up, and a restarted one is found again") {
  const agent::test::Tree tree;
  const std::string path = tree.path() + "/socket";
  const Log log = Log::silent();
  Provisioning provisioning({path, {}}, log);
  const Sample sample = three_workloads();
  provisioning.report(sample);
  CHECK(provisioning.values().configured);
  CHECK_FALSE(provisioning.values().connected);
  {
    Peer actuator(path);
    actuation::Orders orders;
    provisioning.report(sample);
    actuator.accept();
    CHECK(actuator.hear().orders.size() == 3);
    actuator.say("report 1 - 2\nlimits set 250 500 1500 - 7 /a\nsuggest suggested 100 200 - - 0 /b\n");
    provisioning.report(sample);
    CHECK(actuator.hear().orders.size() == 3);
    const auto values = provisioning.values();
    CHECK(values.connected);
    CHECK(values.set == 1);
    CHECK(values.granted_cores == 0.5);
    CHECK(values.suggested_cores == 0.2);
    CHECK(values.freed_cores == 1.5);
    CHECK(values.used_cores == doctest::Approx(0.35));
    Sample busy = sample;
    busy.record.interval_ns = 10'000'000'000;
    busy.record.node.energy_source = EnergySource::rapl;
    for (int i = 0; i < 100; ++i) {
      busy.record.node.cpu_used_cores = i % 10;
      busy.record.node.energy_uj = static_cast<std::uint64_t>(10 * (50 + 4 * (i % 10))) * 1'000'000;
      provisioning.report(busy);
      orders = actuator.hear();
    }
    REQUIRE(orders.core_power_w);
    CHECK(*orders.core_power_w == doctest::Approx(4));
    actuator.say("nonsense");
    provisioning.report(sample);
    CHECK_FALSE(provisioning.values().connected);
  }
  tree.remove("socket");
  provisioning.report(sample);
  Peer again(path);
  provisioning.report(sample);
  again.accept();
  CHECK(again.hear().orders.size() == 3);
}

TEST_CASE("ended minutes are reported once, by name, only at level limits; steps go where the configuration permits") {
  const agent::test::Tree tree;
  const std::string path = tree.path() + "/socket";
  const Log log = Log::silent();
  ProvisioningConfig config{path, {"b.service", "5eed"}};
  const Sample sample = three_workloads();
  const Margins margins{{"a.service", {3, 0.1}}, {"b.service", {3, 0.25, 0.125}}, {"5eed", {3, 0.5}}};
  CHECK_FALSE(orders_of(config, sample, {}, {}, margins).orders[0].step);
  config.margins = true;
  config.pod_limits = true;
  for (const auto& order : orders_of(config, sample, {}, {{"5eed", "limits"}}, margins).orders)
    CHECK(order.step.has_value() == (order.level == Level::limits));

  std::optional<Peer> actuator(path);
  Provisioning provisioning(config, log);
  provisioning.report(sample, {}, margins);
  actuator->accept();
  // An actuator of the previous version would refuse all orders because of a memory step.
  CHECK(actuator->hear().orders[0].step == actuation::MarginStep{3, 0.25});
  CHECK(provisioning.minutes().empty());
  const char* const report =
      "report 1 - 0\n"
      "suggest suggested 250 500 - - 7:4/0/1250000000/1200000000/0/250000000/500000000/0/1000000000 /a.service\n"
      "limits set 250 500 - - "
      "7:4/1/1250000000/1200000000/500000000/250000000/500000000/125000000/1500000000/100/2/m/1200000000/4096/2048/"
      "500000000/0/o "
      "/b.service\n"
      "limits set 250 500 - - 7:4/0/1250000000/1200000000/0/250000000/500000000/0/1000000000 /5eed\n";
  actuator->say(report);
  provisioning.report(sample, {}, margins);
  CHECK(actuator->hear().orders[0].step == actuation::MarginStep{3, 0.25, 0.125});
  const LimitMinute minute{"b.service", 4, true, 0.25, 0.2, 0.5, 0.25, 0.5, 0.125, 1.5, 100, 2, std::nullopt};
  REQUIRE(provisioning.minutes().size() == 1);
  const LimitMinute& reported = provisioning.minutes()[0];
  CHECK(reported.name == minute.name);
  CHECK(reported.number == minute.number);
  CHECK(reported.steered);
  CHECK(reported.margin_ratio == doctest::Approx(minute.margin_ratio));
  CHECK(reported.rule_margin_ratio == doctest::Approx(minute.rule_margin_ratio));
  CHECK(reported.throttled_ratio == minute.throttled_ratio);
  CHECK(reported.granted_cores == minute.granted_cores);
  CHECK(reported.peak_ratio == minute.peak_ratio);
  CHECK(reported.requests == minute.requests);
  CHECK(reported.requests_over == minute.requests_over);
  CHECK(reported.memory_margin_ratio.value() == doctest::Approx(0.2));
  CHECK(reported.memory_granted_bytes == 4096);
  CHECK(reported.memory_used_bytes == 2048);
  CHECK(reported.memory_used_over_peak == 0.5);
  CHECK(reported.student_out);
  actuator->say(report);  // a repeated report
  provisioning.report(sample, {}, margins);
  CHECK(provisioning.minutes().empty());
  const PodLevels levels{{"5eed", "limits"}};
  provisioning.report(sample, levels, margins);
  actuator->say(report);
  provisioning.report(sample, levels, margins);
  REQUIRE(provisioning.minutes().size() == 1);
  CHECK(provisioning.minutes()[0].name == "5eed");

  actuator.reset();
  tree.remove("socket");
  actuator.emplace(path);
  for (int i = 0; i < 2; ++i) provisioning.report(sample, {}, margins);
  actuator->accept();
  CHECK(actuator->hear().orders[0].step == actuation::MarginStep{3, 0.25});
}
