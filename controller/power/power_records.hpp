// power_records: the power record of each node that may sleep by itself, with history and totals. Callers act on a node
// only when stored() says that its record is on disk.
// Writes   turn() writes all that changed in one transaction, one at a time; rows that could not be written are tried
//          again each second
// Load     an unreadable record becomes `unknown`, ours and marked, so that the node is observed and returned to
//          service
// Bounds   kMostTransitions in memory and on disk
// Errors   load: those of the store. A write that fails is logged as sleep.not_stored
// Threads  the loop's
#pragma once

#include <cstdint>
#include <deque>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "common/clock.hpp"
#include "common/log.hpp"
#include "common/log_throttle.hpp"
#include "common/wall_step.hpp"
#include "controller/power/power_store.hpp"
#include "placement/sleep/sleep_ledger.hpp"

namespace wattle::controller::power {

class PowerRecords {
 public:
  using Record = placement::sleep::NodePowerRecord;
  // Clock and log must outlive this object.
  PowerRecords(std::unique_ptr<PowerStore> store, const Clock& clock, const Log& log)
      : store_(std::move(store)), clock_(clock), log_(log) {}
  // Call once, before anything else; blocks.
  Status load();

  const std::map<std::string, Record>& all() const { return records_; }
  const Record* find(const std::string& node) const;
  // Replaces the record of its node, or adds it. A new state, or a new operation in it, is a transition.
  void put(Record record);
  // Keeps the encoded Hello of the node with its next record.
  void greeted(const std::string& node, std::string hello) { hellos_[node] = std::move(hello); }
  // The Hellos by node, with those of load().
  const std::map<std::string, std::string>& hellos() const { return hellos_; }

  const std::deque<SleepTransition>& history() const { return history_; }
  const SleepTotals& totals() const { return totals_; }
  const placement::sleep::SleepLedger& ledger() const { return ledger_; }
  // For a change, which is then written.
  SleepTotals& change_totals();
  placement::sleep::SleepLedger& change_ledger();

  // Moves all times but those of the history.
  void move(const WallStep& step);

  bool stored(const std::string& node) const;
  // The last write failed.
  bool failing() const { return failing_; }
  bool sums_stored() const { return sums_changed_ <= written_; }
  bool writing() const { return write_.has_value(); }
  // Takes the result of the last write, and begins the next.
  void turn();

 private:
  std::string pack_sums() const;
  void unpack_sums(const std::string& body);
  void take_written();

  const std::unique_ptr<PowerStore> store_;
  const Clock& clock_;
  const Log& log_;
  std::map<std::string, Record> records_;
  std::map<std::string, std::string> hellos_;
  std::deque<SleepTransition> history_;
  SleepTotals totals_;
  placement::sleep::SleepLedger ledger_;

  // Changes count up; written_ is the last one that is on disk.
  std::uint64_t changes_ = 0, written_ = 0, writing_ = 0, sums_changed_ = 0;
  std::map<std::string, std::uint64_t> changed_;  // by node, until they are written
  std::deque<SleepTransition> unwritten_;
  std::size_t steps_in_write_ = 0;
  std::optional<std::future<Result<std::string>>> write_;
  MonoTime retry_at_{};
  bool failing_ = false;
  LogThrottle failures_logged_{std::chrono::minutes(1)};
};

}  // namespace wattle::controller::power
