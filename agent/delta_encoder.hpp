// delta_encoder: what of a record needs telling, and in how many records.
// Rule     A workload root is listed when it did something or changed since it was last listed (see at_rest); all are
//          listed in the first record, every 60th, after tell_all(), and when one went without a last word. Roots of one
//          name go together, since the controller adds them up. More than fits a message goes in several records
// Seq      records get numbers of their own, from 1: an interval may take several
// Cost     one comparison per root and tick;  Threads  single owner
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "common/sample.hpp"

namespace wattle::agent {

class DeltaEncoder {
 public:
  // A record's workloads take at most `most_bytes` once encoded: half a message, the rest is for node values and probes.
  explicit DeltaEncoder(std::size_t most_bytes = std::size_t{512} << 10) : most_bytes_(most_bytes) {}
  std::vector<Record> thin(const Record& whole);
  // The same one by one, each until `tell` returns: all at once are megabytes on a large node.
  void thin(const Record& whole, const std::function<void(const Record&)>& tell);
  // The next record lists all: whoever hears it may know nothing.
  void tell_all() { all_ = true; }

 private:
  // What a root would tell at rest. An id is always the same root's, of the same name and kind; counts are 0 at rest.
  struct Resting {
    std::uint32_t told = 0;                 // which of its numbers are not absent
    std::array<std::uint64_t, 4> levels{};  // memory_bytes, pids, memory_anon_bytes, memory_file_bytes
    bool operator==(const Resting&) const = default;
  };
  struct Sent {
    Resting resting;
    bool again = false;  // to be listed whatever it tells
    std::uint64_t tick = 0;
  };
  static Resting resting_of(const WorkloadValues& values);
  static bool tells(const WorkloadValues& values, const Resting& resting);
  std::vector<const WorkloadValues*> changed(const Record& whole);
  std::vector<std::size_t> cut(std::vector<const WorkloadValues*>& listed) const;

  std::size_t most_bytes_;
  std::unordered_map<std::uint64_t, Sent> sent_;  // by cgroup id
  std::uint64_t tick_ = 0, seq_ = 0, since_all_ = 0;
  bool all_ = true;
};

}  // namespace wattle::agent
