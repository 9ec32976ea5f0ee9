#include "controller/ingest/telemetry.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "common/wire/codec.hpp"
#include "controller/ingest/validate.hpp"
#include "tests/unit/controller/helpers.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;
using transport::Identity;
using transport::Role;

namespace {

struct Sink final : TelemetrySink {
  std::vector<std::uint64_t> seqs, live;
  std::vector<std::string> lost;
  std::size_t hellos = 0, placements = 0;
  void on_hello(const wire::Hello&) override { ++hellos; }
  void on_record(const std::string&, const Record& record) override {
    CHECK(steps_left == 0);
    seqs.push_back(record.seq);
    steps_left = steps_each;
  }
  void on_live(const std::string&, const Record& record) override { live.push_back(record.seq); }
  void on_placement(const wire::Placement&) override { ++placements; }
  void on_lost(const std::string& node) override { lost.push_back(node); }
  std::map<std::string, std::string> pod_levels(const std::string& node) override {
    return node == "n1" ? levels : std::map<std::string, std::string>();
  }
  std::map<std::string, std::string> levels;
  std::map<std::string, wire::MarginStep> margins(const std::string& node) override {
    return node == "n1" ? steps : std::map<std::string, wire::MarginStep>();
  }
  std::map<std::string, wire::MarginStep> steps;
  std::shared_ptr<const Student> student(const std::string& node) override { return node == "n9" ? nullptr : trained; }
  std::shared_ptr<const Student> trained;
  // Each record leaves this many steps, with a pause in each.
  bool pause() override { return steps_each > 0; }
  bool step() override { return steps_left > 0 && steps_left-- > 0; }
  std::size_t steps_each = 0, steps_left = 0;
};

struct TelemetryRig {
  ManualClock clock{mono_from_ns(100 * kSecondNs)};
  Log log = Log::silent();
  Sink sink;
  Telemetry telemetry{clock, log, sink};

  std::vector<wire::Message> say(const std::string& route, const wire::Message& message, const std::string& name = "n1",
                                 Role role = Role::agent) {
    return telemetry.receive({route, {role, name}, wire::encode(message)});
  }
  std::vector<wire::Message> samples(const std::string& route, std::vector<Record> records) {
    return say(route, wire::Samples{std::move(records)});
  }
};

template <class T>
const T& only(const std::vector<wire::Message>& messages) {
  REQUIRE(messages.size() == 1);
  REQUIRE(std::holds_alternative<T>(messages.front()));
  return std::get<T>(messages.front());
}

}  // namespace

TEST_CASE("records are taken once and acknowledged cumulatively") {
  TelemetryRig rig;
  only<wire::Welcome>(rig.say("a", hello_of("n1")));
  CHECK(only<wire::Ack>(rig.samples("a", {record_at(1), record_at(2)})).seq == 2);
  CHECK(only<wire::Ack>(rig.samples("a", {record_at(2), record_at(3)})).seq == 3);
  CHECK(rig.sink.seqs == std::vector<std::uint64_t>{1, 2, 3});
  CHECK(rig.telemetry.figures().duplicates == 1);
}

TEST_CASE("a message is processed in steps when its receiver pauses, and acknowledged after the last one") {
  TelemetryRig rig;
  only<wire::Welcome>(rig.say("a", hello_of("n1")));
  rig.sink.steps_each = 2;
  const transport::Incoming incoming{
      "a", {Role::agent, "n1"}, wire::encode(wire::Samples{{record_at(1), record_at(2), record_at(3)}, {}})};
  std::vector<wire::Message> messages = rig.telemetry.receive(incoming);
  CHECK(messages.empty());
  CHECK(rig.sink.seqs == std::vector<std::uint64_t>{1});
  std::size_t pauses = 0;
  for (; rig.telemetry.reads(); ++pauses) {
    CHECK(messages.empty());
    messages = rig.telemetry.read_on();
  }
  CHECK(pauses == 3 * 3);
  CHECK(rig.sink.seqs == std::vector<std::uint64_t>{1, 2, 3});
  CHECK(only<wire::Ack>(messages).seq == 3);
}

TEST_CASE("each acknowledgement has the levels of the node's pods") {
  TelemetryRig rig;
  only<wire::Welcome>(rig.say("a", hello_of("n1")));
  CHECK(only<wire::Ack>(rig.samples("a", {record_at(1)})).pod_levels.empty());
  rig.sink.levels = {{"5eed", "limits"}};
  CHECK(only<wire::Ack>(rig.samples("a", {record_at(2)})).pod_levels == rig.sink.levels);
  rig.sink.levels.clear();
  CHECK(only<wire::Ack>(rig.samples("a", {record_at(3)})).pod_levels.empty());
}

TEST_CASE("each acknowledgement has the margins for the node's own services only") {
  TelemetryRig rig;
  rig.say("a", hello_of("n1"));
  rig.say("b", hello_of("n2"), "n2");
  rig.sink.steps = {{"web.service", {17, 0.25}}};
  CHECK(only<wire::Ack>(rig.samples("a", {record_at(1)})).margins == rig.sink.steps);
  CHECK(only<wire::Ack>(rig.say("b", wire::Samples{{record_at(1)}, {}}, "n2")).margins.empty());
}

TEST_CASE("nodes get the same student once per session; a new version again, and none when it is withdrawn") {
  TelemetryRig rig;
  std::uint64_t seq = 0;
  const auto reported = [&](const std::string& node) {
    return only<wire::Ack>(rig.say(node, wire::Samples{{record_at(++seq)}, {}}, node));
  };
  const auto made = [](std::uint64_t version, std::vector<std::string> parts) {
    auto student = std::make_shared<Student>();
    student->version = version;
    student->parts = std::move(parts);
    return student;
  };
  for (const char* node : {"n1", "n2", "n9"}) rig.say(node, hello_of(node), node);
  CHECK(reported("n1").student_version == 0);
  rig.sink.trained = made(1, {"abc", "def"});
  const wire::Ack first = reported("n1"), other = reported("n2");
  CHECK(first.student_version == 1);
  CHECK(first.student == rig.sink.trained->parts);
  CHECK(other.student == first.student);
  CHECK(reported("n9").student_version == 0);
  CHECK(reported("n1").student_version == 1);
  CHECK(reported("n1").student.empty());
  rig.sink.trained = made(2, {"ghi"});
  CHECK(reported("n1").student == rig.sink.trained->parts);
  rig.sink.trained = nullptr;
  CHECK(reported("n1").student_version == 0);
  rig.sink.trained = made(2, {"ghi"});
  CHECK(reported("n1").student == rig.sink.trained->parts);  // its version was reset
}

TEST_CASE("a student is sent to a whole fleet over more than one second") {
  TelemetryRig rig;
  auto student = std::make_shared<Student>();
  student->version = 1;
  student->parts = {"abc"};
  constexpr int kNodes = 120;
  const auto name = [](int i) { return "m" + std::to_string(i); };
  for (int i = 0; i < kNodes; ++i) rig.say(name(i), hello_of(name(i)), name(i));
  rig.sink.trained = student;
  int sent = 0, seconds = 0;
  for (std::uint64_t seq = 1; sent < kNodes && seconds < 10; ++seconds, ++seq) {
    const int before = sent;
    for (int i = 0; i < kNodes; ++i) {
      const wire::Ack ack = only<wire::Ack>(rig.say(name(i), wire::Samples{{record_at(seq)}, {}}, name(i)));
      sent += ack.student.empty() ? 0 : 1;
    }
    CHECK(sent - before <= 50);
    rig.clock.advance(std::chrono::seconds(1));
  }
  CHECK(sent == kNodes);
  CHECK(seconds == 3);
}

TEST_CASE("an impossible minute of a service is refused with its record") {
  Record good = record_at(1);
  good.limit_minutes = {{"web.service", 3, true, 0.25, -0.1, 0.5, 1, 1.25, 0.1, 1.5, 100, 2, 0.5}};
  CHECK(validate(good));
  const auto refused = [&](auto change) {
    Record record = good;
    change(record);
    const Status done = validate(record);
    REQUIRE_FALSE(done);
    CHECK(done.error().subject.find("limit_minutes") != std::string::npos);
  };
  refused([](Record& r) { r.limit_minutes[0].name.clear(); });
  refused([](Record& r) { r.limit_minutes[0].name.assign(600, 'a'); });
  refused([](Record& r) { r.limit_minutes[0].margin_ratio = -1; });
  refused([](Record& r) { r.limit_minutes[0].rule_margin_ratio = 1e9; });
  refused([](Record& r) { r.limit_minutes[0].throttled_ratio = 2; });
  refused([](Record& r) { r.limit_minutes[0].granted_cores = -1; });
  refused([](Record& r) { r.limit_minutes[0].peak_ratio = 1e9; });
  refused([](Record& r) { r.limit_minutes[0].requests_over = 101; });
  refused([](Record& r) { r.limit_minutes[0].requests.reset(); });
  good.limit_minutes[0].memory_margin_ratio = 0.15;
  good.limit_minutes[0].memory_granted_bytes = good.limit_minutes[0].memory_used_bytes = 4096;
  CHECK(validate(good));
  refused([](Record& r) { r.limit_minutes[0].memory_margin_ratio = -1; });
  refused([](Record& r) { r.limit_minutes[0].memory_granted_bytes = std::uint64_t{1} << 60; });
  refused([](Record& r) { r.limit_minutes[0].memory_used_bytes.reset(); });
  refused([](Record& r) { r.limit_minutes[0].memory_used_over_peak = 2; });
  refused([](Record& r) { r.limit_minutes[0].memory_short_ratio = -1; });
  refused([](Record& r) { r.limit_minutes.resize(kMaxLimitMinutes + 1, r.limit_minutes[0]); });
}

TEST_CASE("rates, connections and round trips that no machine reaches are refused with their field") {
  Record good = record_at(1);
  good.probes.push_back({"default", 4.5, 9.0, 1.0, 0.0, 10});
  REQUIRE(validate(good));
  const auto refused = [&](const std::string& field, auto change) {
    Record record = good;
    change(record);
    const Status done = validate(record);
    CAPTURE(field);
    REQUIRE_FALSE(done);
    CHECK(done.error().subject.ends_with(field));
  };
  for (const double wrong : {1e300, 2 * kMaxBytesPerS, -1.0}) {
    refused("net_rx_bytes_per_s", [&](Record& r) { r.node.net_rx_bytes_per_s = wrong; });
    refused("net_tx_bytes_per_s", [&](Record& r) { r.node.net_tx_bytes_per_s = wrong; });
    refused("disk_read_bytes_per_s", [&](Record& r) { r.node.disk_read_bytes_per_s = wrong; });
    refused("disk_write_bytes_per_s", [&](Record& r) { r.node.disk_write_bytes_per_s = wrong; });
  }
  refused("tcp_established", [](Record& r) { r.node.tcp_established = ~std::uint64_t{0}; });
  for (const double wrong : {1e300, 1e8, -1.0}) {
    refused("p50_ms", [&](Record& r) { r.probes[0].p50_ms = wrong; });
    refused("p95_ms", [&](Record& r) { r.probes[0].p95_ms = wrong; });
    refused("jitter_ms", [&](Record& r) { r.probes[0].jitter_ms = wrong; });
  }
}

TEST_CASE("skipped numbers are counted exactly") {
  TelemetryRig rig;
  rig.say("a", hello_of("n1"));
  rig.samples("a", {record_at(5)});
  CHECK(rig.telemetry.figures().missing == 0);  // records before the first contact are unknown
  rig.samples("a", {record_at(9)});
  CHECK(rig.telemetry.figures().missing == 3);
  rig.say("b", hello_of("n1", 2));
  rig.samples("b", {record_at(3, 2)});
  CHECK(rig.telemetry.figures().missing == 5);
}

TEST_CASE("impossible capacities of links and disks are refused, with the agent's configuration keys") {
  TelemetryRig rig;
  for (const double capacity : {-1.0, 1e14}) {
    const std::string node = "n" + std::to_string(capacity);
    wire::Hello hello = hello_of(node);
    hello.link_bytes_per_s = capacity;
    CHECK(only<wire::Refusal>(rig.say("peer " + node, hello, node)).fix.find("link_bytes_per_s") != std::string::npos);
  }
}

TEST_CASE("impossible sizes of a node's memory and of its room for pods are refused") {
  TelemetryRig rig;
  wire::Hello hello = hello_of("n1");
  hello.memory_bytes = ~std::uint64_t{0};
  CHECK(only<wire::Refusal>(rig.say("a", hello, "n1")).what.find("18446744073709551615 bytes") != std::string::npos);
  hello.memory_bytes = std::uint64_t{1} << 45;
  hello.pod_capacity = std::uint64_t{1} << 40;
  CHECK(only<wire::Refusal>(rig.say("b", hello, "n1")).fix.find("pod_capacity") != std::string::npos);
  hello.pod_capacity = 1000;
  only<wire::Welcome>(rig.say("c", hello, "n1"));
}

TEST_CASE("a higher incarnation takes over at once, and a lower one is refused while the higher is connected") {
  TelemetryRig rig;
  rig.say("a", hello_of("n1", 2));
  rig.samples("a", {record_at(1, 2)});
  const auto welcome = only<wire::Welcome>(rig.say("b", hello_of("n1", 3)));
  CHECK(welcome.acked_incarnation == 2);
  CHECK(welcome.acked_seq == 1);
  CHECK(only<wire::Refusal>(rig.say("c", hello_of("n1", 1))).what.find("later incarnation") != std::string::npos);
  CHECK(only<wire::Refusal>(rig.samples("a", {record_at(2, 2)})).what.find("taken over") != std::string::npos);
  rig.clock.advance(std::chrono::seconds(6));
  rig.telemetry.expire();
  CHECK(rig.sink.lost == std::vector<std::string>{"n1"});
  only<wire::Welcome>(rig.say("c", hello_of("n1", 1)));
  rig.samples("c", {record_at(1, 1)});
  CHECK(rig.sink.seqs == std::vector<std::uint64_t>{1, 1});
}

TEST_CASE("two agents with one key that keep replacing each other are both blocked for a while") {
  TelemetryRig rig;
  rig.say("first", hello_of("n1"));
  bool cut = false;
  for (int i = 0; i < 20 && !cut; ++i)
    cut = std::holds_alternative<wire::Refusal>(rig.say("r" + std::to_string(i), hello_of("n1")).front());
  CHECK(cut);
  only<wire::Refusal>(rig.say("later", hello_of("n1")));
  CHECK(rig.telemetry.sessions() == 0);
  rig.clock.advance(std::chrono::seconds(61));
  only<wire::Welcome>(rig.say("alone", hello_of("n1")));
}

TEST_CASE("an agent reports only its own node, in a version that both sides support, and after Hello") {
  TelemetryRig rig;
  CHECK(only<wire::Refusal>(rig.say("a", hello_of("n2"))).fix.find("n1") != std::string::npos);
  wire::Hello newer = hello_of("n1");
  newer.version_min = newer.version_max = wire::kVersionMax + 1;
  CHECK(only<wire::Refusal>(rig.say("b", newer)).what.find("wire versions") != std::string::npos);
  CHECK(only<wire::Refusal>(rig.samples("c", {record_at(1)})).what.find("Hello") != std::string::npos);
  CHECK(only<wire::Refusal>(rig.say("d", hello_of("n1"), "n1", Role::shim)).fix.find("agent") != std::string::npos);
  CHECK(rig.sink.hellos == 0);
  rig.say("e", hello_of("n1"));
  CHECK(only<wire::Refusal>(rig.say("e", wire::Placement{"uid", "n2", false, 1, 0})).what.find("own agent") !=
        std::string::npos);
}

TEST_CASE("a peer that sends garbage gets one refusal and is then ignored until the next Hello") {
  TelemetryRig rig;
  rig.say("a", hello_of("n1"));
  const transport::Incoming garbage{"a", {Role::agent, "n1"}, "\xc1 nonsense"};
  only<wire::Refusal>(rig.telemetry.receive(garbage));
  CHECK(rig.telemetry.receive(garbage).empty());
  CHECK(rig.samples("a", {record_at(1)}).empty());
  CHECK(rig.sink.seqs.empty());
  only<wire::Welcome>(rig.say("a", hello_of("n1")));
  rig.samples("a", {record_at(1)});
  CHECK(rig.sink.seqs.size() == 1);
}

TEST_CASE("a record that is out of range is refused but acknowledged") {
  TelemetryRig rig;
  rig.say("a", hello_of("n1"));
  Record absurd = record_at(1);
  absurd.node.energy_uj = 30'000'000'000;  // 30 kW
  CHECK(only<wire::Ack>(rig.samples("a", {absurd, record_at(2)})).seq == 2);
  CHECK(rig.sink.seqs == std::vector<std::uint64_t>{2});
  CHECK(rig.telemetry.figures().refused == 1);
}

TEST_CASE("a live record is shown, neither acknowledged nor counted, and taken when it arrives in turn") {
  TelemetryRig rig;
  rig.say("a", hello_of("n1"));
  only<wire::Ack>(rig.samples("a", {record_at(1)}));
  CHECK(rig.say("a", wire::Live{{record_at(9)}}).empty());
  CHECK(rig.sink.live == std::vector<std::uint64_t>{9});
  CHECK(rig.telemetry.figures().records == 1);
  std::vector<Record> rest;
  for (std::uint64_t seq = 2; seq <= 9; ++seq) rest.push_back(record_at(seq));
  CHECK(only<wire::Ack>(rig.samples("a", rest)).seq == 9);
  CHECK(rig.sink.seqs.size() == 9);
  CHECK(rig.telemetry.figures().missing == 0);
  CHECK(rig.telemetry.figures().duplicates == 0);
}

TEST_CASE("a live record is shown only if it is newer, of this incarnation, and within range") {
  TelemetryRig rig;
  CHECK(only<wire::Refusal>(rig.say("a", wire::Live{{record_at(1)}})).what.find("Hello") != std::string::npos);
  rig.say("a", hello_of("n1", 2));
  only<wire::Ack>(rig.samples("a", {record_at(5, 2)}));
  Record lie = record_at(7, 2);
  lie.node.cpu_used_cores = 1e9;
  CHECK(rig.say("a", wire::Live{{record_at(5, 2), record_at(6, 1), record_at(6, 3), lie}}).empty());
  CHECK(rig.sink.live.empty());
  CHECK(rig.telemetry.figures().refused == 0);  // it is refused when it arrives in turn
}

TEST_CASE("an agent that sends more records than can be new is closed") {
  TelemetryRig rig;
  rig.say("a", hello_of("n1"));
  std::uint64_t seq = 0;
  std::vector<wire::Message> answer;
  for (int i = 0; i < 1000 && answer.empty(); ++i) answer = rig.say("a", wire::Live{{record_at(++seq)}});
  CHECK(only<wire::Refusal>(answer).what.find("too often") != std::string::npos);
  CHECK(rig.telemetry.sessions() == 0);
  CHECK(seq > 200);
}

TEST_CASE("a Ping is answered with both clocks") {
  TelemetryRig rig;
  rig.say("a", hello_of("n1"));
  const auto pong = only<wire::Pong>(rig.say("a", wire::Ping{9, 5}));
  CHECK(pong.nonce == 9);
  CHECK(pong.mono_ns == 5);
  CHECK(pong.peer_mono_ns == 100 * kSecondNs);
}

TEST_CASE("validation corrects rounding, and refuses impossible values with the name of the field") {
  Record rounding = record_at(1);
  rounding.node.cpu_used_cores = 8.2;
  rounding.node.pressure.cpu_some_ratio = 1.01;
  REQUIRE(validate(rounding));
  CHECK(*rounding.node.cpu_used_cores == 8);
  CHECK(*rounding.node.pressure.cpu_some_ratio == 1);
  Record busy = record_at(1);
  busy.node.cpu_used_cores = 13;
  const auto refused = validate(busy);
  REQUIRE(!refused);
  CHECK(refused.error().subject == "record.node.cpu_used_cores");
  Record negative = record_at(1);
  negative.node.net_rx_bytes_per_s = -1;
  CHECK(!validate(negative));
  for (const std::int64_t senseless : {std::int64_t{-1}, std::numeric_limits<std::int64_t>::max()}) {
    Record clock = record_at(1);
    clock.mono_ns = senseless;
    CHECK(!validate(clock));
  }
  Record nameless = record_at(1);
  nameless.workloads.push_back(pod_values("", 1));
  CHECK(!validate(nameless));
}

TEST_CASE("the sum of containers is at most their pod's, and their ids are valid parts of names") {
  const auto refused = [](std::vector<ContainerValues> containers) {
    Record record = record_at(1);
    WorkloadValues pod = pod_values("u", 1000);
    pod.energy_uj = 500;
    pod.containers = std::move(containers);
    record.workloads.push_back(std::move(pod));
    const Status done = validate(record);
    return done ? std::string() : done.error().subject;
  };
  CHECK(refused({{"0123456789ab", 600, 300}, {"ba9876543210", 400, 200}}).empty());
  CHECK(refused({{"a", 1000, {}}}).empty());
  CHECK(refused({{"a", 600, {}}, {"b", 401, {}}}) == "record.workloads[u].containers.cpu_usage_us");
  CHECK(refused({{"a", 1, 300}, {"b", 1, 201}}) == "record.workloads[u].containers.energy_uj");
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  CHECK(refused({{"a", 1, 1}, {"b", kMost, 1}}) == "record.workloads[u].containers.cpu_usage_us");
  CHECK(refused({{"a", 1, 1}, {"b", 1, kMost}}) == "record.workloads[u].containers.energy_uj");
  for (const std::string& id : {std::string(), std::string("a/b"), std::string("A"), std::string(65, 'a')})
    CHECK(refused({{id, 1, 1}}) == "record.workloads[u].containers.id");
  CHECK(refused(std::vector<ContainerValues>(kMaxContainers + 1, {"a", 0, 0})) == "record.workloads[u].containers");
}

TEST_CASE("a node's wall clock is estimated from the record with the least delay") {
  TelemetryRig rig;
  CHECK_FALSE(rig.telemetry.clocks().ahead_s("n1"));
  const auto say = [&](std::uint64_t seq, double ahead_s, double waited_s, std::uint64_t incarnation = 1) {
    Record record = record_at(seq);
    record.incarnation = incarnation;
    record.wall_ns = to_ns(rig.clock.wall()) + static_cast<std::int64_t>((ahead_s - waited_s) * 1e9);
    rig.samples("a", {record});
    return rig.telemetry.clocks().ahead_s("n1").value();
  };
  wire::Hello hello = hello_of("n1");
  hello.incarnation = 1;
  only<wire::Welcome>(rig.say("a", hello));
  CHECK(say(1, 3, 0.2) == doctest::Approx(2.8));
  CHECK(say(2, 3, 0.05) == doctest::Approx(2.95));
  CHECK(say(3, 3, 600) == doctest::Approx(2.95));  // from the spool
  // The clock was corrected: the old estimate lasts for a minute.
  rig.clock.advance(std::chrono::seconds(31));
  CHECK(say(4, 0, 0.05) == doctest::Approx(2.95));
  rig.clock.advance(std::chrono::seconds(31));
  CHECK(say(5, 0, 0.05) == doctest::Approx(-0.05));
}

TEST_CASE(
    "an hour's energy cannot be reported a thousand times a second, because the node's clock limits measured time") {
  TelemetryRig rig;
  rig.say("a", hello_of("n1"));
  const auto report = [&](std::uint64_t seq, std::int64_t mono_ns, std::int64_t interval_ns) {
    Record record = record_at(seq);
    record.mono_ns = mono_ns;
    record.interval_ns = interval_ns;
    CHECK(only<wire::Ack>(rig.samples("a", {record})).seq == seq);  // also for refused records
  };
  constexpr std::int64_t kHourNs = 3600 * kSecondNs;
  report(1, 2 * kHourNs, kHourNs);
  for (std::uint64_t seq = 2; seq <= 100; ++seq)
    report(seq, 2 * kHourNs + static_cast<std::int64_t>(seq) * 1'000'000, kHourNs);
  CHECK(rig.sink.seqs == std::vector<std::uint64_t>{1});
  CHECK(rig.telemetry.figures().refused == 99);
  report(101, 3 * kHourNs, kHourNs);  // the time that really passed is accepted
  report(102, 3 * kHourNs + kSecondNs, kSecondNs);
  CHECK(rig.sink.seqs == std::vector<std::uint64_t>{1, 101, 102});
}

TEST_CASE("parts of an interval share its time; gaps and a clock that goes back give none") {
  MeasuredTime measured;
  Record record = record_at(1);
  record.mono_ns = 1000 * kSecondNs;
  record.interval_ns = 100 * kSecondNs;
  record.parts = 50;
  for (record.part = 0; record.part < 50; ++record.part) CHECK(measured.add(record));
  record.part = 0;
  record.mono_ns = 900 * kSecondNs;
  CHECK_FALSE(measured.add(record));
  record.mono_ns = 5000 * kSecondNs;  // records between were lost
  CHECK(measured.add(record));
  record.mono_ns += 30 * kSecondNs;  // a tick that is short, within the minute
  record.interval_ns = 60 * kSecondNs;
  CHECK(measured.add(record));
}
