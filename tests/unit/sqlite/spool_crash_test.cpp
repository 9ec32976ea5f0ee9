// The spool compared with a model, on a disk that loses power, fills up and fails. RC_PARAMS=max_success=N runs more.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <random>
#include <set>

#include "common/sqlite/spool.hpp"
#include "common/wire/codec.hpp"
#include "crash_disk.hpp"

using namespace wattle;
using namespace wattle::sqlite;
using namespace wattle::sqlite::testing;
using namespace std::chrono_literals;

namespace {

// The bytes follow from the mark, so that returned records can be checked.
Record record_of(const RecordMark& mark) {
  Record record;
  record.incarnation = mark.incarnation;
  record.seq = mark.seq;
  record.wall_ns = static_cast<std::int64_t>(mark.seq * 7919 + mark.incarnation);
  const std::size_t size = mark.seq % 11 == 0 ? 9000 : mark.seq % 3 == 0 ? 1500 : 60;
  record.probes.push_back({std::string(size, static_cast<char>('a' + mark.seq % 26)), {}, {}, {}, 0, 0});
  return record;
}

class World {
 public:
  World() {
    options_.path = "spool.db";
    options_.max_bytes = 192 << 10;
    options_.memory_bytes = 8 << 20;
    options_.database.vfs = CrashDisk::kName;
    options_.database.page_bytes = 1024;
    start();
  }
  ~World() { spool_.reset(); }

  void push(unsigned count, bool slowly) {
    for (unsigned i = 0; i < count; ++i) {
      if (slowly) clock_.advance(1s);
      const RecordMark mark{incarnation_, ++seq_};
      RC_ASSERT(spool_->push(record_of(mark)).has_value());
      pushed_.insert(mark);
      look();
    }
  }
  void wait(unsigned seconds) {
    clock_.advance(std::chrono::seconds(seconds));
    spool_->maintain();
    look();
  }
  // Sends as a session does; each batch must be the next one in the spool.
  void send(unsigned count) {
    const auto batch = spool_->peek_after(cursor_, count);
    RC_ASSERT(batch.has_value());
    RC_ASSERT(batch->size() <= count);
    for (const EncodedRecord& record : *batch) {
      RC_ASSERT(record.mark > cursor_);
      RC_ASSERT(record.mark.incarnation == batch->front().mark.incarnation);
      RC_ASSERT(pushed_.contains(record.mark));
      RC_ASSERT(record.bytes == wire::encode_record(record_of(record.mark)));
      for (auto at = pushed_.upper_bound(cursor_); *at < record.mark; ++at) RC_ASSERT(!expected(*at));
      if (!troubled()) RC_ASSERT(durable_.contains(record.mark));
      if (!in_gap(record.mark)) sent_.insert(record.mark);
      cursor_ = record.mark;
    }
    look();
  }
  // The controller acknowledges the received records, up to some record.
  void acknowledge(unsigned back) {
    auto at = pushed_.upper_bound(cursor_);
    for (unsigned i = 0; i <= back && at != pushed_.begin(); ++i) --at;
    if (at == pushed_.end() || *at > cursor_ || *at <= acked_) return;
    acked_ = *at;
    RC_ASSERT(spool_->ack(acked_).has_value());
    look();
  }
  void lose_session() { cursor_ = acked_; }
  void crash(unsigned seed) {
    std::mt19937 random(seed);
    disk_.cut_power([&](unsigned below) { return random() % below; });
    spool_.reset();
    restart();
  }
  void stop_and_start() {
    spool_.reset();
    restart();
  }
  void disk(bool full, bool broken) {
    disk_.full = full;
    disk_.broken = broken;
  }

 private:
  void start() {
    auto opened = Spool::open_(options_, clock_);
    if (!opened) RC_FAIL(opened.error().message());
    spool_ = std::move(*opened);
    incarnation_ = std::max(incarnation_, spool_->last().incarnation) + 1;
    seq_ = 0;
    cursor_ = acked_;
    was_troubled_ = troubled();
  }
  void restart() {
    disk(false, false);
    const auto must = durable_;
    std::set<RecordMark> survivors;
    std::vector<Gap> gaps;
    {
      auto table = RecordTable::open_(options_.path, options_.database);
      if (!table) RC_FAIL(table.error().message());
      const auto list = table->list();
      if (!list) RC_FAIL(list.error().message());
      for (const StoredRecord& record : *list) survivors.insert(record.mark);
      RC_ASSERT(survivors.size() == list->size());
      gaps = table->gaps().value();
    }
    for (const RecordMark& mark : survivors) RC_ASSERT(pushed_.contains(mark));
    const auto gapped = [&](const RecordMark& mark) {
      return std::any_of(gaps.begin(), gaps.end(), [&](const Gap& gap) {
        return gap.incarnation == mark.incarnation && gap.first_seq <= mark.seq && mark.seq <= gap.last_seq;
      });
    };
    for (const Gap& gap : gaps) RC_ASSERT(gap.records == gap.last_seq - gap.first_seq + 1);
    for (const RecordMark& mark : must)
      if (mark > acked_) RC_ASSERT(survivors.contains(mark) != gapped(mark));
    for (const RecordMark& mark : survivors)
      if (mark > acked_) RC_ASSERT(!gapped(mark));
    pushed_ = survivors;
    durable_ = survivors;
    for (auto at = sent_.begin(); at != sent_.end();) at = survivors.contains(*at) ? std::next(at) : sent_.erase(at);
    start();
    RC_ASSERT(spool_->size() == survivors.size());
    look();
  }
  // The invariants after every step.
  void look() {
    was_troubled_ = was_troubled_ || troubled();
    if (!troubled() && spool_->patience() == 60s) {
      was_troubled_ = false;
      durable_ = pushed_;
      for (auto at = durable_.begin(); at != durable_.end();) at = in_gap(*at) ? durable_.erase(at) : std::next(at);
      RC_ASSERT(spool_->values().bytes <= options_.max_bytes);
    }
    for (const RecordMark& mark : sent_)
      if (mark > acked_ && !was_broken()) RC_ASSERT(!in_gap(mark));
    std::size_t waiting = 0;
    for (auto at = pushed_.upper_bound(acked_); at != pushed_.end(); ++at) waiting += in_gap(*at) ? 0 : 1;
    if (!acked_arrived_back()) RC_ASSERT(spool_->size() == waiting);
    RC_ASSERT(disk_.bytes() < options_.max_bytes + (6 << 20));
  }
  bool expected(const RecordMark& mark) const { return durable_.contains(mark) && mark > acked_ && !in_gap(mark); }
  bool troubled() const { return !spool_->values().durable; }
  // A failing disk may make it drop records that it had sent; they are counted too.
  bool was_broken() const { return broken_once_ || disk_.broken; }
  bool acked_arrived_back() const { return !pushed_.empty() && *pushed_.begin() <= acked_; }
  bool in_gap(const RecordMark& mark) const {
    const auto& gaps = spool_->gaps();
    return std::any_of(gaps.begin(), gaps.end(), [&](const Gap& gap) {
      return gap.incarnation == mark.incarnation && gap.first_seq <= mark.seq && mark.seq <= gap.last_seq;
    });
  }

  CrashDisk disk_;
  ManualClock clock_{mono_from_ns(1'000'000'000)};
  SpoolOptions options_;
  std::unique_ptr<Spool> spool_;
  std::uint64_t incarnation_ = 0, seq_ = 0;
  std::set<RecordMark> pushed_, durable_, sent_;  // since the last start, including those found then
  RecordMark cursor_, acked_;
  bool was_troubled_ = false, broken_once_ = false;

 public:
  void break_disk() {
    broken_once_ = true;
    disk(false, true);
  }
};

struct Step {
  unsigned kind, number;
};
[[maybe_unused]] std::ostream& operator<<(std::ostream& out, const Step& step) {
  return out << step.kind << ':' << step.number;
}

void run(const std::vector<Step>& steps, bool with_trouble) {
  World world;
  for (const auto& [kind, number] : steps) {
    switch (kind) {
      case 0:
      case 1:
        world.push(1 + number % 6, true);
        break;
      case 2:
        world.push(1 + number % 3, false);
        break;
      case 3:
        world.push(20 + number % 60, true);
        break;
      case 4:
        world.wait(number % 7);
        break;
      case 5:
      case 6:
        world.send(1 + number % 40);
        break;
      case 7:
        world.acknowledge(number % 10);
        break;
      case 8:
        world.lose_session();
        break;
      case 9:
      case 10:
        world.crash(number);
        break;
      case 11:
        world.stop_and_start();
        break;
      case 12:
        if (with_trouble) world.disk(true, false);
        break;
      case 13:
        if (with_trouble) world.break_disk();
        break;
      default:
        world.disk(false, false);
        break;
    }
  }
  world.disk(false, false);
  world.crash(7);
}

std::vector<Step> any_steps() {
  return *rc::gen::container<std::vector<Step>>(
      rc::gen::construct<Step>(rc::gen::inRange(0U, 16U), rc::gen::inRange(0U, 1000U)));
}
}  // namespace

TEST_CASE("after any power cut: durable records are there once, and only those were ever sent") {
  CHECK(rc::check([] { run(any_steps(), false); }));
}

TEST_CASE("a disk that fills up or fails loses no durable record without counting it") {
  CHECK(rc::check([] { run(any_steps(), true); }));
}
