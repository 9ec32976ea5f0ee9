// sleep_hold: an agent session's state before its node sleeps: the controller's order, and the last record to send.
// Source   the outbox, when begin() is called
// Errors   none
// Threads  single owner, the session
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "common/outbox.hpp"
#include "common/wire/messages.hpp"

namespace wattle::transport {

class SleepHold {
 public:
  void on_order(const wire::SleepOrder& order) { order_ = order; }
  // Takes the last order, if it is new.
  std::optional<wire::SleepOrder> take_order() { return std::exchange(order_, std::nullopt); }

  // Lets through only the records that the outbox has now. `sent` is the last record that was sent.
  void begin(const Outbox& outbox, const RecordMark& sent);
  void release() { last_.reset(); }
  // Forgets order and hold: another conversation begins.
  void reset();
  bool held() const { return last_.has_value(); }
  // Returns whether all records that the hold lets through were sent.
  bool all_sent(const Outbox& outbox, const RecordMark& sent) const;
  // Removes the records that wait until after the sleep.
  void filter(std::vector<EncodedRecord>& records) const;

 private:
  std::optional<wire::SleepOrder> order_;
  std::optional<RecordMark> last_;
};

}  // namespace wattle::transport
