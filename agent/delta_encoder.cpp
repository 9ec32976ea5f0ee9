#include "agent/delta_encoder.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace wattle::agent {

namespace {
constexpr std::uint64_t kAllEvery = 60;

// Upper bound in msgpack: 34 numbers of up to 9 bytes, the heads of their groups, and the name; per container two
// numbers and its id.
std::size_t encoded_bytes(const WorkloadValues& values) {
  return 330 + values.name.size() + values.containers.size() * (20 + kContainerIdBytes);
}

// Role of a number in at_rest().
enum class Part { level, count, now_and_then, mean };

template <class F>
void for_each_number(const WorkloadValues& v, const F& f) {
  for (const auto* level : {&v.memory_bytes, &v.pids, &v.memory_anon_bytes, &v.memory_file_bytes})
    f(Part::level, *level);
  for (const auto* count : {&v.cpu_usage_us, &v.energy_uj, &v.cpu_throttled_us, &v.kernel.on_cpu_us,
                            &v.kernel.cpu_cycles, &v.kernel.run_queue_us, &v.kernel.run_queue_waits,
                            &v.kernel.tcp_srtt_samples, &v.kernel.block_io_us, &v.kernel.block_ios, &v.nested_cpu_us})
    f(Part::count, *count);
  const Pressure& p = v.pressure;
  for (const auto* ratio : {&p.cpu_some_ratio, &p.cpu_full_ratio, &p.memory_some_ratio, &p.memory_full_ratio,
                            &p.io_some_ratio, &p.io_full_ratio})
    f(Part::count, *ratio);
  for (const auto* count : {&v.io_read_bytes, &v.io_write_bytes, &v.memory_high_events, &v.memory_oom_kills})
    f(Part::now_and_then, *count);
  f(Part::mean, v.kernel.tcp_srtt_us);
}

Record without_workloads(const Record& whole, std::uint64_t seq, bool with_node) {
  Record record;
  record.incarnation = whole.incarnation;
  record.seq = seq;
  record.mono_ns = whole.mono_ns;
  record.wall_ns = whole.wall_ns;
  record.interval_ns = whole.interval_ns;
  if (with_node) {
    record.node = whole.node;
    record.probes = whole.probes;
    record.limit_minutes = whole.limit_minutes;
  }
  return record;
}
}  // namespace

DeltaEncoder::Resting DeltaEncoder::resting_of(const WorkloadValues& values) {
  Resting resting;
  std::uint32_t bit = 1;
  std::size_t level = 0;
  for_each_number(values, [&](Part part, const auto& number) {
    if (number && (part == Part::level || part == Part::count)) resting.reported |= bit;
    if (part == Part::level) resting.levels[level++] = number ? static_cast<std::uint64_t>(*number) : 0;
    bit <<= 1;
  });
  return resting;
}

// A value that is reported only sometimes may be reported as 0.
bool DeltaEncoder::reports(const WorkloadValues& values, const Resting& resting) {
  bool still = !values.ended;
  for_each_number(values, [&](Part part, const auto& number) {
    const bool zero = !number || *number == 0;
    still = still && (part == Part::level || (part == Part::mean ? !number : zero));
  });
  return still && resting_of(values) == resting;
}

std::vector<Record> DeltaEncoder::thin(const Record& whole) {
  std::vector<Record> all;
  thin(whole, [&](const Record& record) { all.push_back(record); });
  return all;
}

void DeltaEncoder::thin(const Record& whole, const std::function<void(const Record&)>& report) {
  ++tick_;
  auto listed = changed(whole);
  bool all = std::exchange(all_, false) || ++since_all_ >= kAllEvery;
  // The receiver adds an ended root's levels to those of its name, so the other roots of that name are listed next
  // time, too.
  std::unordered_set<std::string_view> ended;
  for (const WorkloadValues* values : listed)
    if (values->ended) ended.insert(values->name);
  for (const WorkloadValues* values : listed) {
    if (values->ended) {
      sent_.erase(values->cgroup_id);
      continue;
    }
    Sent& sent = sent_[values->cgroup_id];
    sent.resting = resting_of(*values);
    sent.again = ended.contains(values->name);
    sent.tick = tick_;
  }
  // A sent root that is missing now disappeared without a final value.
  const auto gone = std::erase_if(sent_, [&](const auto& item) { return item.second.tick != tick_; });
  all = all || gone > 0;
  if (all) {
    since_all_ = 0;
    listed.clear();
    for (const WorkloadValues& values : whole.workloads) listed.push_back(&values);
  }
  const auto ends = cut(listed);
  for (std::size_t part = 0, at = 0; part < ends.size(); ++part) {
    Record record = without_workloads(whole, ++seq_, part == 0);
    record.workloads.reserve(ends[part] - at);
    for (; at < ends[part]; ++at) record.workloads.push_back(*listed[at]);
    record.partial = !all;
    record.part = part;
    record.parts = ends.size();
    report(record);
  }
}

// Returns the roots whose values differ from their resting values, and all roots that share a name with them.
std::vector<const WorkloadValues*> DeltaEncoder::changed(const Record& whole) {
  std::vector<const WorkloadValues*> listed;
  std::unordered_set<std::string_view> names;
  const auto resting = [&](const WorkloadValues& values) {
    const auto sent = sent_.find(values.cgroup_id);
    if (sent == sent_.end()) return false;
    sent->second.tick = tick_;
    return !sent->second.again && reports(values, sent->second.resting);
  };
  std::vector<bool> rests;
  rests.reserve(whole.workloads.size());
  for (const WorkloadValues& values : whole.workloads) {
    rests.push_back(resting(values));
    if (!rests.back()) names.insert(values.name);
  }
  for (std::size_t i = 0; i < whole.workloads.size(); ++i)
    if (!rests[i] || names.contains(whole.workloads[i].name)) listed.push_back(&whole.workloads[i]);
  return listed;
}

// Sorts by name if they exceed one record, and returns the end of each record.
std::vector<std::size_t> DeltaEncoder::cut(std::vector<const WorkloadValues*>& listed) const {
  std::size_t bytes = 0;
  for (const WorkloadValues* values : listed) bytes += encoded_bytes(*values);
  if (bytes > most_bytes_)
    std::stable_sort(listed.begin(), listed.end(),
                     [](const WorkloadValues* a, const WorkloadValues* b) { return a->name < b->name; });
  std::vector<std::size_t> ends;
  bytes = 0;
  for (std::size_t at = 0; at < listed.size(); ++at) {
    const WorkloadValues& values = *listed[at];
    const bool same = at > 0 && values.name == listed[at - 1]->name;
    if (bytes > 0 && !same && bytes + encoded_bytes(values) > most_bytes_) {
      ends.push_back(at);
      bytes = 0;
    }
    bytes += encoded_bytes(values);
  }
  ends.push_back(listed.size());
  return ends;
}

}  // namespace wattle::agent
