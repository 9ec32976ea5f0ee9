// The session's part in a node's sleep.
#include <algorithm>
#include <limits>
#include <utility>

#include "common/transport/session.hpp"

namespace wattle::transport {

std::optional<wire::SleepOrder> AgentSession::take_sleep_order() {
  if (phase_ != Phase::welcomed) return std::nullopt;
  return std::exchange(sleep_order_, std::nullopt);
}

void AgentSession::hold() {
  const std::vector<EncodedRecord> newest = outbox_.newest();
  // An outbox that has records, but no whole interval, is emptied.
  const RecordMark all{hello_.incarnation, std::numeric_limits<std::uint64_t>::max()};
  hold_after_ = newest.empty() ? (outbox_.size() == 0 ? sent_ : all) : std::max(sent_, newest.back().mark);
}

bool AgentSession::flushed() const {
  const bool sent = hold_after_ && (sent_ >= *hold_after_ || outbox_.size() == 0);
  return phase_ == Phase::welcomed && sent && in_flight_.empty();
}

// Leaves the records that may be sent.
void AgentSession::hold_back(std::vector<EncodedRecord>& records) const {
  if (hold_after_) std::erase_if(records, [&](const EncodedRecord& record) { return record.mark > *hold_after_; });
}

bool AgentSession::say(const wire::Goodbye& goodbye) { return phase_ == Phase::welcomed && send(goodbye); }

void AgentSession::fall_silent() {
  silent_ = true;
  status_.welcomed = false;
  status_.problem = "the node goes to sleep";
}

void AgentSession::wake(std::string why) {
  silent_ = false;
  status_.problem = std::move(why);
  ++status_.reconnects;
  retry_at_ = clock_.mono();
  phase_ = Phase::waiting;
}

}  // namespace wattle::transport
