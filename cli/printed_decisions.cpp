#include "cli/printed_decisions.hpp"

namespace wattle::cli {

bool PrintedDecisions::take(const wire::Decision& decision) {
  const Key key{decision.id, decision.wall_ns};
  if (decision.outcome || !printed_.insert(key).second) return false;
  in_order_.push_back(key);
  if (in_order_.size() > kMost) {
    printed_.erase(in_order_.front());
    in_order_.pop_front();
  }
  return true;
}

}  // namespace wattle::cli
