#include "controller/power/power_records.hpp"

#include <utility>

namespace wattle::controller::power {

namespace core = placement::sleep;

namespace {

constexpr Duration kRetryEvery = std::chrono::seconds(1), kLedgerKeeps = std::chrono::hours(25);

core::NodePowerRecord unreadable(const std::string& node, WallTime now) {
  core::NodePowerRecord record;
  record.node = node;
  record.since = now;
  record.reason = "its stored record was unreadable";
  record.marked = record.ours = true;
  return record;
}

}  // namespace

Status PowerRecords::load() {
  WATTLE_TRY(PowerRows rows, store_->load());
  for (PowerRow& row : rows.nodes) {
    if (!row.record) row.record = unreadable(row.node, clock_.wall());
    records_[row.node] = std::move(*row.record);
    if (!row.hello.empty()) hellos_[row.node] = std::move(row.hello);
  }
  history_.assign(std::make_move_iterator(rows.transitions.begin()), std::make_move_iterator(rows.transitions.end()));
  while (history_.size() > kMostTransitions) history_.pop_front();
  unpack_sums(rows.sums);
  return {};
}

const PowerRecords::Record* PowerRecords::find(const std::string& node) const {
  const auto found = records_.find(node);
  return found == records_.end() ? nullptr : &found->second;
}

void PowerRecords::put(Record record) {
  Record& kept = records_[record.node];
  const bool fresh = kept.node.empty();
  if (!fresh && (kept.state != record.state || kept.operation != record.operation)) {
    history_.push_back({clock_.wall(), record.node, kept.state, record.state, record.reason, record.operation});
    unwritten_.push_back(history_.back());
    if (history_.size() > kMostTransitions) history_.pop_front();
    if (unwritten_.size() > kMostTransitions && !write_) unwritten_.pop_front();
  }
  changed_[record.node] = ++changes_;
  kept = std::move(record);
}

SleepTotals& PowerRecords::change_totals() {
  sums_changed_ = ++changes_;
  return totals_;
}

core::SleepLedger& PowerRecords::change_ledger() {
  sums_changed_ = ++changes_;
  ledger_.forget_before(clock_.wall() - kLedgerKeeps);
  return ledger_;
}

void PowerRecords::move(const WallStep& step) {
  for (auto& [node, record] : records_) {
    record.since = step.moved(record.since);
    for (std::optional<WallTime>* each : {&record.ordered, &record.last_slept, &record.last_woken})
      if (*each) *each = step.moved(**each);
    changed_[node] = ++changes_;
  }
  ledger_.move(step);
  sums_changed_ = ++changes_;
}

bool PowerRecords::stored(const std::string& node) const { return !changed_.contains(node); }

std::string PowerRecords::pack_sums() const {
  placement::PackWriter out;
  ledger_.pack(out);
  totals_.pack(out);
  return out.take();
}

void PowerRecords::unpack_sums(const std::string& body) {
  if (body.empty()) return;
  placement::PackReader in(body);
  core::SleepLedger ledger;
  SleepTotals totals;
  ledger.unpack(in);
  totals.unpack(in);
  if (!in.done()) return;
  ledger_ = std::move(ledger);
  totals_ = std::move(totals);
}

void PowerRecords::take_written() {
  if (write_->wait_for(std::chrono::seconds(0)) != std::future_status::ready) return;
  const Result<std::string> done = write_->get();
  write_.reset();
  failing_ = !done;
  if (!done) {
    retry_at_ = clock_.mono() + kRetryEvery;
    if (const auto count = failures_logged_.note("write", clock_.mono()))
      log_.error("sleep.not_stored", "power records cannot be stored, so no node is put to sleep",
                 {{"error", done.error()}, {"count", *count}});
    return;
  }
  written_ = writing_;
  std::erase_if(changed_, [this](const auto& item) { return item.second <= written_; });
  unwritten_.erase(unwritten_.begin(), unwritten_.begin() + static_cast<std::ptrdiff_t>(steps_in_write_));
}

void PowerRecords::turn() {
  if (write_) take_written();
  if (write_ || written_ == changes_ || clock_.mono() < retry_at_) return;
  PowerRows rows;
  for (const auto& [node, change] : changed_) {
    const auto hello = hellos_.find(node);
    rows.nodes.push_back({node, records_.at(node), hello == hellos_.end() ? std::string() : hello->second});
  }
  rows.transitions.assign(unwritten_.begin(), unwritten_.end());
  steps_in_write_ = unwritten_.size();
  if (!sums_stored()) rows.sums = pack_sums();
  writing_ = changes_;
  write_ = store_->keep(std::move(rows));
  take_written();
}

}  // namespace wattle::controller::power
