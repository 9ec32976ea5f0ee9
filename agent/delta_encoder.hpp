// delta_encoder: selects the parts of a record that must be sent, and splits them into records.
// Rule     a workload root is listed if it was active or changed since it was last listed (see at_rest). All are listed
//          in the first record, in every 60th, after report_all(), and if one disappeared without a final value. Roots
//          with the same name are listed together, because the controller sums them. If they exceed a message, they are
//          split into several records
// Seq      records have their own numbers, from 1: an interval may take several
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
  // `most_bytes`: limit of a record's encoded workloads: half a message; the rest is for node values and probes.
  explicit DeltaEncoder(std::size_t most_bytes = std::size_t{512} << 10) : most_bytes_(most_bytes) {}
  std::vector<Record> thin(const Record& whole);
  // Passes the same records one by one, each valid until the callback returns: on a large node all of them together
  // take megabytes.
  void thin(const Record& whole, const std::function<void(const Record&)>& report);
  // Lists all roots in the next record, for a receiver without earlier ones.
  void report_all() { all_ = true; }

 private:
  // Values of a root at rest. An id always belongs to the same root, with the same name and kind; counts are 0 at rest.
  struct Resting {
    std::uint32_t reported = 0;             // bit set of the numbers with values
    std::array<std::uint64_t, 4> levels{};  // memory_bytes, pids, memory_anon_bytes, memory_file_bytes
    bool operator==(const Resting&) const = default;
  };
  struct Sent {
    Resting resting;
    bool again = false;  // must be listed in any case
    std::uint64_t tick = 0;
  };
  static Resting resting_of(const WorkloadValues& values);
  static bool reports(const WorkloadValues& values, const Resting& resting);
  std::vector<const WorkloadValues*> changed(const Record& whole);
  std::vector<std::size_t> cut(std::vector<const WorkloadValues*>& listed) const;

  std::size_t most_bytes_;
  std::unordered_map<std::uint64_t, Sent> sent_;  // by cgroup id
  std::uint64_t tick_ = 0, seq_ = 0, since_all_ = 0;
  bool all_ = true;
};

}  // namespace wattle::agent
