// outcome_windows: the settle windows that are open, found by node and pod, filled by records of their node (settle.hpp).
// Errors   none: what no record came for is over after its grace, and says so itself
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
  // Of a decision that has one already it is not taken.
  void open(SettleWindow window);
  // The pod runs there no more: its windows take no more. `final`: they end with what they have; else somebody may still say how it went.
  void pod_gone(const std::string& pod_uid, const std::string& node, bool final = true);
  // It could not run, or stay, there.
  void pod_failed(const std::string& pod_uid, const std::string& node, std::string_view how);
  // A record of the node, whose interval ended at `at`; `ahead`: older ones are still to come. Gives those that are over with it,
  // which are open no more, by decision.
  std::vector<SettleWindow> add(const std::string& node, const Record& record, MonoTime at, bool ahead, MonoTime now);
  // Likewise those that are over by the time.
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
