// session_backlog: how a session sends accumulated records.
#include "session_rig.hpp"

using namespace wattle;
using namespace wattle::transport;
using namespace wattle::transport::testing;
using namespace std::chrono_literals;

using Seqs = std::vector<std::uint64_t>;

namespace {

wire::Welcome with_live(std::uint64_t max_batch, std::uint64_t credit) {
  wire::Welcome message = welcome(max_batch, credit);
  message.version = wire::kLiveSince;
  return message;
}

Seqs live_seqs(Rig& rig) {
  Seqs seqs;
  for (const auto& live : rig.take<wire::Live>())
    for (const Record& record : live.records) seqs.push_back(record.seq);
  return seqs;
}

Pace with_pause(Duration pause) {
  Pace pace = Rig::kAtOnce;
  pace.spread_per_record = pace.spread_max = pause;
  return pace;
}

}  // namespace

TEST_CASE("while older records wait the newest interval is sent ahead, and again in its turn") {
  Rig rig;
  rig.fill(1, 6);
  rig.greet(with_live(100, 2));
  rig.answer(rig.settle());
  REQUIRE(rig.got.size() >= 2);
  CHECK(std::holds_alternative<wire::Live>(rig.got.front()));
  CHECK(live_seqs(rig) == Seqs{6});
  CHECK(rig.seqs() == Seqs{1, 2});
  rig.answer(rig.settle());
  CHECK(live_seqs(rig).empty());  // nothing newer
  rig.fill(7, 7);
  rig.answer(rig.settle());
  CHECK(live_seqs(rig) == Seqs{7});
  rig.say(wire::Ack{2, 2, 100});
  REQUIRE(rig.next<wire::Samples>()->records.size() == 5);
  CHECK(rig.session->status().live == 2);
  rig.say(wire::Ack{2, 7, 100});
  rig.answer(rig.settle());
  rig.fill(8, 8);
  rig.answer(rig.settle());
  CHECK(live_seqs(rig).empty());  // sent at once
  CHECK(rig.seqs() == Seqs{8});
}

TEST_CASE("all parts of the newest interval go ahead together") {
  Rig rig;
  rig.fill(1, 3);
  for (std::uint64_t part = 0; part < 3; ++part) {
    Record record = at(2, 4 + part);
    record.part = part;
    record.parts = 3;
    REQUIRE(rig.outbox.push(record));
  }
  rig.greet(with_live(100, 1));
  rig.settle();
  CHECK(live_seqs(rig) == Seqs{4, 5, 6});
}

TEST_CASE("no record goes ahead to a controller without the feature, or for an earlier incarnation") {
  Rig rig;
  SUBCASE("an older controller") {
    rig.fill(1, 6);
    rig.greet(welcome(100, 2));
  }
  SUBCASE("records of another process") {
    for (std::uint64_t seq = 1; seq <= 6; ++seq) REQUIRE(rig.outbox.push(at(1, seq)));
    rig.greet(with_live(100, 2));
  }
  rig.settle();
  CHECK(live_seqs(rig).empty());
  CHECK(rig.seqs() == Seqs{1, 2});
}

TEST_CASE("the backlog starts after a pause, while new records go ahead") {
  Rig rig(hello(), with_pause(1h));
  rig.fill(1, 40);
  rig.greet(with_live(100, 1000));
  rig.answer(rig.settle());
  CHECK(live_seqs(rig) == Seqs{40});
  CHECK(rig.seqs().empty());
  for (int s = 0; s < 3600 && rig.session->status().sent_records == 0; ++s) rig.answer(rig.settle());
  CHECK(rig.seqs().size() == 40);
}

TEST_CASE("the backlog is sent no faster than its pace") {
  Pace pace;
  pace.spread_max = Duration{};
  pace.per_s = 10;
  pace.at_once = 5;
  Rig rig(hello(), pace);
  rig.fill(1, 40);
  rig.greet(with_live(100, 1000));
  Seqs all;
  for (int s = 0; s < 20 && all.size() < 40; ++s) {
    rig.answer(rig.settle());
    const Seqs now = rig.seqs();
    CHECK(now.size() <= 10);
    all.insert(all.end(), now.begin(), now.end());
  }
  REQUIRE(all.size() == 40);
  for (std::size_t i = 0; i < all.size(); ++i) CHECK(all[i] == i + 1);
}

TEST_CASE("one or two records do not wait") {
  Rig rig(hello(), with_pause(1h));
  rig.fill(1, 2);
  rig.greet(with_live(100, 100));
  rig.settle();
  CHECK(rig.seqs() == Seqs{1, 2});
}
