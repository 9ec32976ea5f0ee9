#include "agent/delta_encoder.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "common/wire/codec.hpp"
#include "common/wire/fields.hpp"

using namespace wattle;
using namespace wattle::agent;

namespace {
using KnownRoots = std::map<std::uint64_t, WorkloadValues>;

WorkloadValues root(std::uint64_t id, std::uint64_t busy) {
  WorkloadValues values;
  values.cgroup_id = id;
  values.kind = WorkloadKind::pod;
  values.name = "pod-" + std::to_string(id / 2);  // two roots per pod
  values.cpu_usage_us = busy;
  values.energy_uj = busy * 3;
  values.memory_bytes = 4096 + id;
  values.pressure.cpu_some_ratio = busy > 500 ? 0.25 : 0.0;
  if (busy > 700) {
    values.kernel.tcp_srtt_samples = 3;
    values.kernel.tcp_srtt_us = 120.5;
  } else {
    values.kernel.tcp_srtt_samples = 0;
  }
  return values;
}

Record whole(std::uint64_t seq, const KnownRoots& roots) {
  Record record;
  record.incarnation = 4;
  record.seq = seq;
  record.mono_ns = static_cast<std::int64_t>(seq) * 1'000'000'000;
  record.interval_ns = 1'000'000'000;
  record.node.cpu_used_cores = static_cast<double>(seq);
  for (const auto& [id, values] : roots) record.workloads.push_back(values);
  return record;
}

// The state of a receiver of every record, root by root.
class Listener {
 public:
  void hear(const std::vector<Record>& records) {
    std::set<std::uint64_t> listed;
    for (const Record& record : records) {
      RC_ASSERT(record.seq == ++seq_);
      RC_ASSERT(record.part == static_cast<std::uint64_t>(&record - records.data()));
      RC_ASSERT(record.parts == records.size());
      RC_ASSERT(record.partial == records.front().partial);
      RC_ASSERT(record.part == 0 || !record.node.cpu_used_cores);
      for (const WorkloadValues& values : record.workloads) {
        RC_ASSERT(listed.insert(values.cgroup_id).second);
        known_[values.cgroup_id] = values;
      }
    }
    for (auto at = known_.begin(); at != known_.end();) {
      if (listed.contains(at->first)) {
        ++at;
      } else if (!records.front().partial) {
        at = known_.erase(at);
      } else {
        at->second = at_rest(at->second);
        ++at;
      }
    }
  }
  // Ended roots are returned once.
  KnownRoots take() {
    const KnownRoots now = known_;
    std::erase_if(known_, [](const auto& item) { return item.second.ended; });
    return now;
  }

 private:
  KnownRoots known_;
  std::uint64_t seq_ = 0;
};

struct Change {
  std::uint64_t id, busy;
  unsigned kind;
};
// Changes one number of a root, or whether it ended.
struct ChangeOne {
  std::size_t which, at = 0;
  template <class T>
  void operator()(const char*, std::optional<T>& value) {
    if (at++ == which) value = value.value_or(0) + 1;
  }
  void operator()(const char*, Pressure& value) { wire::fields(*this, value); }
  void operator()(const char*, KernelValues& value) { wire::fields(*this, value); }
  void operator()(const char*, bool& ended) { ended = at++ == which; }
  template <class T>
  void operator()(const char*, T&) {}  // the owner
};
[[maybe_unused]] std::ostream& operator<<(std::ostream& out, const Change& change) {
  return out << change.id << ':' << change.busy << ':' << change.kind;
}
}  // namespace

TEST_CASE("a receiver of every record knows every root of every interval, whatever was omitted or split") {
  CHECK(rc::check([] {
    const auto most_bytes = *rc::gen::element<std::size_t>(400, 2000, 1 << 20);
    const auto ticks = *rc::gen::container<std::vector<std::vector<Change>>>(rc::gen::container<std::vector<Change>>(
        rc::gen::construct<Change>(rc::gen::inRange<std::uint64_t>(1, 12), rc::gen::inRange<std::uint64_t>(0, 1000),
                                   rc::gen::inRange(0U, 12U))));
    DeltaEncoder thinner(most_bytes);
    Listener listener;
    KnownRoots roots;
    std::uint64_t seq = 0;
    for (const auto& changes : ticks) {
      for (auto& [id, values] : roots) values = at_rest(values);
      for (const Change& change : changes) {
        if (change.kind == 0) {
          roots.erase(change.id);  // without a final record
        } else if (change.kind == 1 && roots.contains(change.id)) {
          roots[change.id].ended = true;
        } else if (change.kind == 2 && roots.contains(change.id)) {
          roots[change.id].memory_bytes = change.busy;
        } else if (change.kind == 3) {
          thinner.report_all();
        } else if (!roots.contains(change.id) || !roots[change.id].ended) {
          roots[change.id] = root(change.id, change.busy % 3 == 0 ? 0 : change.busy);
        }
      }
      listener.hear(thinner.thin(whole(++seq, roots)));
      RC_ASSERT(listener.take() == roots);
      std::erase_if(roots, [](const auto& item) { return item.second.ended; });
    }
  }));
}

TEST_CASE("only active or changed roots are listed; all at the start, every 60th time and on request") {
  DeltaEncoder thinner;
  KnownRoots roots;
  for (std::uint64_t id = 0; id < 100; ++id) roots[id] = root(id, 0);
  CHECK(thinner.thin(whole(1, roots)).front().workloads.size() == 100);
  const auto quiet = thinner.thin(whole(2, roots));
  REQUIRE(quiet.size() == 1);
  CHECK(quiet.front().partial);
  CHECK(quiet.front().workloads.empty());
  CHECK(quiet.front().node.cpu_used_cores == 2.0);
  roots[7] = root(7, 10);  // 6 belongs to the same pod
  CHECK(thinner.thin(whole(3, roots)).front().workloads.size() == 2);
  for (auto& [id, values] : roots) values.io_read_bytes = values.memory_oom_kills = 0;  // reported only now and then
  roots[7] = at_rest(roots[7]);
  roots[9].io_read_bytes = 512;
  const auto reads = thinner.thin(whole(4, roots));
  CHECK(reads.front().workloads.size() == 2);  // 9 read, and 8 is of the same pod; 7 at rest is not reported
  for (auto& [id, values] : roots) values = at_rest(values);
  CHECK(thinner.thin(whole(5, roots)).front().workloads.empty());
  thinner.report_all();
  const auto asked = thinner.thin(whole(6, roots));
  CHECK_FALSE(asked.front().partial);
  CHECK(asked.front().workloads.size() == 100);
  std::size_t whole_ones = 0;
  for (std::uint64_t seq = 5; seq < 5 + 120; ++seq)
    whole_ones += thinner.thin(whole(seq, roots)).front().partial ? 0 : 1;
  CHECK(whole_ones == 2);
}

TEST_CASE("a change of any number lists the root") {
  for (const bool reported : {false, true}) {
    WorkloadValues resting;
    resting.name = "a";
    if (reported) resting = root(0, 0);
    for (std::size_t which = 0, count = 1; which < count; ++which) {
      DeltaEncoder thinner;
      thinner.thin(whole(1, {{0, resting}}));
      CHECK(thinner.thin(whole(2, {{0, resting}})).front().workloads.empty());
      WorkloadValues changed = resting;
      ChangeOne change{which};
      wire::fields(change, changed);
      count = change.at;
      CHECK(thinner.thin(whole(3, {{0, changed}})).front().workloads.size() == 1);
    }
  }
}

TEST_CASE("10,000 roots go in records that each fit a message, with every root once") {
  DeltaEncoder thinner;
  KnownRoots roots;
  for (std::uint64_t id = 0; id < 10'000; ++id) {
    WorkloadValues values = root(id, 900 + id);
    values.name = "burstable-pod-" + std::to_string(id) + std::string(60, 'x');
    roots[id] = values;
  }
  const auto records = thinner.thin(whole(1, roots));
  CHECK(records.size() > 1);
  std::set<std::uint64_t> ids;
  for (const Record& record : records) {
    CHECK(wire::encode_record(record).size() < wire::Limits{}.message_bytes);
    for (const WorkloadValues& values : record.workloads) CHECK(ids.insert(values.cgroup_id).second);
  }
  CHECK(ids.size() == 10'000);
}
