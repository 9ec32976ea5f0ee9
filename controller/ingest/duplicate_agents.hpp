// duplicate_agents: detects two agents that share a key and keep taking over a node's live session from each other.
// Rules    several takeovers in a minute cut both for a minute, and longer if they repeat; a lower incarnation that
//          keeps saying Hello is a second agent, too
// Source   Hellos, as the telemetry sees them; monotonic times
// Errors   none: a conflict is logged once, counted, and listed for ten minutes
// Threads  single owner
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/clock.hpp"
#include "common/log.hpp"

namespace wattle::controller {

class DuplicateAgents {
 public:
  DuplicateAgents(const Clock& clock, const Log& log) : clock_(clock), log_(log) {}
  // True while both agents of the node are cut.
  bool is_cut(const std::string& node);
  // Records that a live session was taken over by an equal incarnation, which a restarted agent never has, or by a
  // higher one. Returns true if both agents are now cut.
  bool take_over(const std::string& node, bool equals);
  // Records a Hello of a lower incarnation while a higher one is live.
  void knock(const std::string& node);
  // Nodes whose key was used by two agents recently.
  std::vector<std::string> conflicts() const;
  std::uint64_t found() const { return found_; }

 private:
  struct Seen {
    std::vector<MonoTime> takeovers, knocks;  // recent ones
    std::optional<MonoTime> cut_until, conflict_at;
    Duration cut_for{};
    bool knocks_reported = false;
  };

  const Clock& clock_;
  const Log& log_;
  std::unordered_map<std::string, Seen> seen_;  // by node
  std::uint64_t found_ = 0;
};

}  // namespace wattle::controller
