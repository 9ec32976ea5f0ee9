// unit_ties: links the units, containers and VMs of nodes to confirmed workloads. An agent reports the unit's name;
// ingest() replaces it with the workload's UID. The workload then counts as a pod, with the unit's use, waiting, energy
// and end.
// Rules    a unit of a node is one workload at a time; a new tie replaces the former. Records from before the end of a
//          tie are the former workload's, in any order of arrival
// Bounds   kMostFormer ties that are over; the oldest are dropped
// Errors   none
// Threads  single owner
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/outbox.hpp"
#include "common/sample.hpp"

namespace wattle::controller {

// Names under which an agent may report what an operator names: a unit ("nightly-report" and "nightly-report.service"
// are one), a container's id, a VM, or the path of a cgroup. The likeliest first.
std::vector<std::string> unit_names(std::string_view text);
// True if `workload`, as the agent names it, is `name`, one of unit_names(); a container matches by 12 or more digits
// of its id.
bool is_unit(std::string_view name, std::string_view workload);

struct TiedUnit {
  std::string node, unit;
};

class UnitTies {
 public:
  static constexpr std::size_t kMostFormer = 4096;

  void tie(const std::string& uid, const std::string& node, const std::string& unit);
  // Unties the workload from its unit; `last` is its newest own record. Returns the former tie.
  std::optional<TiedUnit> untie(const std::string& uid, const RecordMark& last);
  const TiedUnit* unit_of(const std::string& uid) const;
  // The UID under which the unit reports; empty: its own name.
  std::string uid_of(const std::string& node, const std::string& unit) const;
  // Replaces names in the record with the workloads' UIDs. Returns true if it replaced any.
  bool name(const std::string& node, Record& record) const;
  std::size_t size() const { return of_.size(); }

 private:
  struct Tie {
    std::string uid;
    std::optional<RecordMark> last;  // absent: the tie is current
  };
  std::map<std::string, std::map<std::string, std::deque<Tie>>> units_;  // by node and unit; former ties first
  std::unordered_map<std::string, TiedUnit> of_;                         // current ties by UID
  std::deque<TiedUnit> former_;                                          // former ties, oldest first
};

}  // namespace wattle::controller
