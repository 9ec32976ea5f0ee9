// Ingest with a store: when records are acknowledged, and how many may be in flight.
#include <doctest/doctest.h>

#include "common/wire/codec.hpp"
#include "controller/ingest/telemetry.hpp"
#include "controller/ingest/validate.hpp"
#include "tests/unit/controller/helpers.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;
using namespace std::chrono_literals;
using transport::Role;

namespace {

struct RecordCounter final : TelemetrySink {
  std::size_t records = 0;
  void on_hello(const wire::Hello&) override {}
  void on_record(const std::string&, const Record&) override { ++records; }
  void on_live(const std::string&, const Record&) override {}
  void on_placement(const wire::Placement&) override {}
  void on_lost(const std::string&) override {}
};

struct QueuedStore final : RecordStore {
  std::vector<StoreItem> items;
  bool is_full = false;
  bool full() const override { return is_full; }
  void add(StoreItem item) override { items.push_back(std::move(item)); }
};

struct TelemetryStoreRig {
  ManualClock clock{mono_from_ns(100 * kSecondNs)};
  Log log = Log::silent();
  RecordCounter sink;
  QueuedStore queue;
  std::optional<Telemetry> telemetry;

  explicit TelemetryStoreRig(const StoreMarks& marks = {}) {
    telemetry.emplace(clock, log, sink, nullptr, &queue, marks);
  }
  std::vector<wire::Message> say(const std::string& route, const wire::Message& message,
                                 const std::string& node = "n1") {
    return telemetry->receive({route, {Role::agent, node}, wire::encode(message)});
  }
  wire::Welcome hello(const std::string& route, std::uint64_t incarnation = 1, const std::string& node = "n1") {
    const auto answers = say(route, hello_of(node, incarnation), node);
    REQUIRE(answers.size() == 1);
    REQUIRE(std::holds_alternative<wire::Welcome>(answers.front()));
    return std::get<wire::Welcome>(answers.front());
  }
  std::vector<wire::Message> send(const std::string& route, std::uint64_t first, std::uint64_t last,
                                  std::uint64_t incarnation = 1) {
    wire::Samples samples;
    for (std::uint64_t seq = first; seq <= last; ++seq) samples.records.push_back(record_at(seq, incarnation));
    return say(route, samples);
  }
  // The store commits the oldest pending records.
  std::optional<Answer> commit(std::size_t records) {
    const StoreItem last = queue.items.at(records - 1);
    queue.items.erase(queue.items.begin(), queue.items.begin() + static_cast<std::ptrdiff_t>(records));
    return telemetry->committed(last.node, last.mark, records);
  }
};

std::uint64_t acked(const std::optional<Answer>& answer) {
  REQUIRE(answer);
  return std::get<wire::Ack>(answer->message).seq;
}

bool refused(const std::vector<wire::Message>& answers) {
  return answers.size() == 1 && std::holds_alternative<wire::Refusal>(answers.front());
}

}  // namespace

TEST_CASE("records are acknowledged only after the store has committed them") {
  TelemetryStoreRig rig;
  rig.hello("a");
  CHECK(rig.send("a", 1, 3).empty());
  CHECK(rig.sink.records == 3);  // used at once all the same
  CHECK(rig.hello("b").acked_seq == 0);
  CHECK(rig.send("b", 1, 2).empty());  // sent again, and not taken again
  CHECK(rig.queue.items.size() == 3);
  CHECK(acked(rig.commit(1)) == 1);
  CHECK(acked(rig.commit(2)) == 2);  // all that this session sent
  CHECK(acked(Answer{"", rig.send("b", 3, 3).front()}) == 3);
  CHECK(rig.hello("c").acked_seq == 3);
}

TEST_CASE("a session gets no acknowledgement for records of an earlier session") {
  TelemetryStoreRig rig;
  rig.hello("a");
  rig.send("a", 1, 5);
  rig.hello("b", 2);
  CHECK(!rig.commit(2));
  CHECK(rig.send("b", 1, 1, 2).empty());
  CHECK(acked(rig.commit(3)) == 5);
  CHECK(acked(rig.commit(1)) == 1);
}

TEST_CASE("the store's marks give the end of each incarnation") {
  TelemetryStoreRig rig({{"n1", {{5, 10}, {8, 3}}}});
  const auto welcome = rig.hello("a", 9);
  CHECK(welcome.acked_incarnation == 8);
  CHECK(welcome.acked_seq == 3);
  rig.send("a", 1, 10, 5);
  CHECK(rig.queue.items.empty());
  rig.send("a", 11, 11, 5);
  rig.send("a", 6, 6, 8);
  REQUIRE(rig.queue.items.size() == 2);
  CHECK(!rig.queue.items[0].gap);
  CHECK(rig.queue.items[1].gap == StoreGap{"n1", 8, 4, 5, "never received", 0});
  CHECK(rig.telemetry->figures().missing == 2);
  // An agent that lost its state starts at a lower incarnation, and gets only its own mark.
  rig.clock.advance(6s);
  CHECK(rig.hello("b", 6).acked_incarnation == 5);
}

TEST_CASE("records that cannot be queued are not taken: the session ends and its agent reconnects") {
  TelemetryStoreRig rig;
  rig.hello("a");
  rig.queue.is_full = true;
  CHECK(refused(rig.send("a", 1, 1)));
  CHECK(rig.sink.records == 0);
  CHECK(rig.telemetry->sessions() == 0);
  rig.queue.is_full = false;
  rig.hello("a");
  rig.send("a", 1, 1);
  CHECK(acked(rig.commit(1)) == 1);
}

TEST_CASE("a session that exceeds its credit is closed, and others are not") {
  TelemetryStoreRig rig;
  rig.hello("other", 1, "n2");
  const auto credit = rig.hello("a").credit;
  std::uint64_t seq = 0;
  while (!refused(rig.send("a", seq + 1, seq + 64))) {
    seq += 64;
    REQUIRE(seq <= 4 * credit);
  }
  CHECK(rig.queue.items.size() <= 2 * credit);
  CHECK(rig.telemetry->sessions() == 1);
}

TEST_CASE("credit is a share of the queue, and less for an agent that sends much more than a record a second") {
  TelemetryStoreRig rig;
  CHECK(rig.hello("a").credit == 256);
  for (std::uint64_t batch = 0; batch < 5; ++batch) rig.send("a", batch * 60 + 1, batch * 60 + 60);
  CHECK(std::get<wire::Ack>(rig.commit(300)->message).credit == 16);
  rig.clock.advance(1s);
  rig.send("a", 301, 301);
  CHECK(std::get<wire::Ack>(rig.commit(1)->message).credit == 256);
  for (int node = 0; node < 999; ++node) rig.hello("r" + std::to_string(node), 1, "m" + std::to_string(node));
  CHECK(rig.hello("a").credit == 20);
}

TEST_CASE("records of an agent whose clock was set back and whose state was lost count, also after many restarts") {
  TelemetryStoreRig rig;
  for (std::uint64_t incarnation = 1000; incarnation < 1000 + kMarksPerNode + 2; ++incarnation) {
    const std::string route = "r" + std::to_string(incarnation);
    rig.hello(route, incarnation);
    rig.send(route, 1, 1, incarnation);
    CHECK(acked(rig.commit(1)) == 1);
  }
  const std::size_t before = rig.sink.records;
  rig.clock.advance(6s);
  CHECK(rig.hello("back", 7).acked_seq == 0);
  rig.send("back", 1, 3, 7);
  CHECK(rig.sink.records == before + 3);
  CHECK(acked(rig.commit(3)) == 3);
  rig.send("back", 4, 4, 7);
  CHECK(rig.sink.records == before + 4);
  CHECK(acked(rig.commit(1)) == 4);
  rig.send("back", 2, 4, 7);  // sent again
  CHECK(rig.sink.records == before + 4);
  rig.clock.advance(6s);
  rig.hello("again", 8);
  rig.send("again", 1, 1, 8);
  CHECK(rig.sink.records == before + 5);
}

TEST_CASE("a lower incarnation that keeps reconnecting is a second agent, which is reported and has no effect") {
  TelemetryStoreRig rig;
  rig.hello("new", 2);
  CHECK(refused(rig.say("old", hello_of("n1", 1))));  // may be an agent that is ending
  CHECK(rig.telemetry->conflicts().empty());
  for (int knock = 0; knock < 3; ++knock) {
    rig.clock.advance(4s);
    rig.say("new", wire::Ping{1, 1});
    CHECK(refused(rig.say("old", hello_of("n1", 1))));
  }
  CHECK(rig.telemetry->conflicts() == std::vector<std::string>{"n1"});
  CHECK(rig.telemetry->conflicts_found() == 1);
  CHECK(rig.telemetry->sessions() == 1);
  rig.clock.advance(601s);
  CHECK(rig.telemetry->conflicts().empty());
}

TEST_CASE("two agents whose higher incarnations replace each other are both closed; a restarted agent is not") {
  TelemetryStoreRig rig;
  for (std::uint64_t incarnation = 1; incarnation < 30; ++incarnation) {
    rig.hello("r" + std::to_string(incarnation), incarnation);
    rig.clock.advance(1s);
  }
  CHECK(rig.telemetry->conflicts().empty());
  bool cut = false;
  for (std::uint64_t incarnation = 30; incarnation < 60 && !cut; ++incarnation) {
    rig.say("left" + std::to_string(incarnation), hello_of("n1", incarnation - 1));
    cut = refused(rig.say("r" + std::to_string(incarnation), hello_of("n1", incarnation)));
    rig.clock.advance(1s);
  }
  CHECK(cut);
  CHECK(rig.telemetry->sessions() == 0);
  CHECK(rig.telemetry->conflicts() == std::vector<std::string>{"n1"});
}

TEST_CASE("a record with too many workloads is acknowledged, and kept as it is counted") {
  struct Folds final : TelemetrySink {
    void on_hello(const wire::Hello&) override {}
    std::size_t fold(const std::string&, Record& record) override {
      record.workloads.resize(1);
      return 2;
    }
    void on_record(const std::string&, const Record& record) override { CHECK(record.workloads.size() == 1); }
    void on_live(const std::string&, const Record&) override {}
    void on_placement(const wire::Placement&) override {}
    void on_lost(const std::string&) override {}
  } folds;
  TelemetryStoreRig rig;
  rig.telemetry.emplace(rig.clock, rig.log, folds, nullptr, &rig.queue);
  rig.hello("a");
  Record record = record_at(1);
  for (const char* name : {"p1", "p2", "p3"}) record.workloads.push_back(pod_values(name, 1));
  CHECK(rig.say("a", wire::Samples{{record}}).empty());
  REQUIRE(rig.queue.items.size() == 1);
  const auto kept = wire::decode_record(rig.queue.items[0].bytes);
  REQUIRE(kept);
  CHECK(kept->workloads.size() == 1);
  CHECK(rig.queue.items[0].record.workloads.size() == 1);
  CHECK(acked(rig.commit(1)) == 1);
}

TEST_CASE("workloads whose total exceeds any node's energy are refused") {
  Record record = record_at(1);
  for (int i = 0; i < 3; ++i) {
    record.workloads.push_back(pod_values("p" + std::to_string(i), 1));
    record.workloads.back().energy_uj = 9'000'000'000;  // 9 kW
  }
  const auto wrong = validate(record);
  REQUIRE(!wrong);
  CHECK(wrong.error().subject == "record.workloads.energy_uj");
  record.workloads.pop_back();
  CHECK(validate(record));
}

TEST_CASE("an agent without room for its messages loses its session, is ignored until Hello, and loses no record") {
  TelemetryStoreRig rig;
  rig.hello("a");
  rig.send("a", 1, 3);
  const transport::Incoming more{"a", {Role::agent, "n1"}, wire::encode(wire::Samples{{record_at(4)}})};
  CHECK(rig.telemetry->expects(more));
  CHECK(refused(rig.telemetry->refuse_busy(more)));
  CHECK(rig.telemetry->sessions() == 0);
  CHECK(!rig.telemetry->expects(more));
  CHECK(rig.telemetry->expects({"a", {Role::agent, "n1"}, wire::encode(hello_of("n1"))}));
  CHECK(rig.telemetry->expects({"b", {Role::agent, "n1"}, more.bytes}));
  rig.commit(3);
  CHECK(rig.hello("a").acked_seq == 3);
  rig.send("a", 4, 4);
  CHECK(rig.sink.records == 4);
}

TEST_CASE("a session with messages in the queue is not silent") {
  TelemetryStoreRig rig;
  rig.hello("a");
  for (int s = 0; s < 10; ++s) {
    rig.clock.advance(2s);
    CHECK(rig.telemetry->expects({"a", {Role::agent, "n1"}, "waits"}));
    rig.telemetry->expire();
  }
  CHECK(rig.telemetry->sessions() == 1);
  rig.clock.advance(6s);
  rig.telemetry->expire();
  CHECK(rig.telemetry->sessions() == 0);
}

TEST_CASE("a message that takes too long is continued later, record by record, without loss or repetition") {
  struct Slow final : TelemetrySink {
    std::vector<std::uint64_t> seqs;
    void on_hello(const wire::Hello&) override {}
    bool enough() override { return true; }
    void on_record(const std::string&, const Record& record) override { seqs.push_back(record.seq); }
    void on_live(const std::string&, const Record&) override {}
    void on_placement(const wire::Placement&) override {}
    void on_lost(const std::string&) override {}
  } slow;
  TelemetryStoreRig rig;
  rig.telemetry.emplace(rig.clock, rig.log, slow, nullptr, &rig.queue);
  rig.hello("a");
  rig.send("a", 1, 3);
  int rests = 0;
  while (const auto rest = rig.telemetry->take_rest()) {
    ++rests;
    rig.telemetry->receive({"a", {Role::agent, "n1"}, *rest});
  }
  CHECK(rests == 2);
  CHECK(slow.seqs == std::vector<std::uint64_t>{1, 2, 3});
  CHECK(rig.telemetry->figures().duplicates == 0);
  CHECK(acked(rig.commit(3)) == 3);
}
