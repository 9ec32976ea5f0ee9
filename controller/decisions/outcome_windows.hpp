// outcome_windows: keeps the open settle windows by node and pod, and fills them from records of their node
// (settle.hpp).
// Errors   none: a window without records ends after its grace period
// Threads  single owner
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/clock.hpp"
#include "common/sample.hpp"
#include "controller/decisions/settle.hpp"

namespace wattle::controller {

class OutcomeWindows {
 public:
  // Ignores the window if its decision already has one.
  void open(SettleWindow window);
  // Records that the pod stopped there, so that its windows take no more records. `final`: they end now; otherwise
  // pod_failed() may still follow.
  void pod_gone(const std::string& pod_uid, const std::string& node, bool final = true);
  // Records that the pod could not start, or keep running, there.
  void pod_failed(const std::string& pod_uid, const std::string& node, std::string_view how);
  // Adds a record of the node, with an interval that ended at `at`. `ahead`: older records will follow. Removes and
  // returns the windows that this completes, by decision.
  std::vector<SettleWindow> add(const std::string& node, const Record& record, MonoTime at, bool ahead, MonoTime now);
  // Removes and returns the windows that have expired.
  std::vector<SettleWindow> over(MonoTime now);
  std::size_t size() const { return windows_.size(); }

 private:
  template <class Change>
  void change(const std::string& pod_uid, const std::string& node, const Change& change);
  std::vector<SettleWindow> take(const std::vector<std::uint64_t>& ids);

  std::map<std::uint64_t, SettleWindow> windows_;                                            // by decision
  std::unordered_map<std::string, std::unordered_multimap<std::string, std::uint64_t>> of_;  // by node, by pod
};

}  // namespace wattle::controller
