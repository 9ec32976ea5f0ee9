#include "controller/rollout/change_log.hpp"

#include <algorithm>

namespace wattle::controller {

Result<ChangeLog> ChangeLog::open_(const std::string& path, const Clock& clock, const Log& log) {
  ChangeLog changes(clock, log);
  if (path.empty()) return changes;
  WATTLE_TRY(changes.file_, ControlFile::open_(path));
  WATTLE_TRY(changes.recent_, changes.file_->changes(static_cast<std::int64_t>(kRecent)));
  std::reverse(changes.recent_.begin(), changes.recent_.end());
  if (!changes.recent_.empty()) changes.last_id_ = changes.recent_.back().id;
  return changes;
}

Result<std::optional<Change>> ChangeLog::last() {
  if (file_) return file_->last();
  return std::optional<Change>();
}

void ChangeLog::note(const Change& change) {
  last_id_ = change.id;
  recent_.push_back(change);
  if (recent_.size() > kRecent) recent_.erase(recent_.begin());
  log_->info("policy.changed", "mode, policy or reward has changed",
             {{"who", change.who}, {"what", change.what}, {"why", change.why}});
}

Status ChangeLog::record(Change& change) {
  change.at_s = now_s();
  if (file_) {
    WATTLE_CHECK(write_late());
    WATTLE_CHECK(file_->add(change));
  } else {
    change.id = last_id_ + 1;
    if (change.experiment == 0) change.experiment = change.id;
  }
  note(change);
  return {};
}

void ChangeLog::record_anyway(Change& change) {
  const Status recorded = record(change);
  if (recorded) return;
  change.id = last_id_ + 1;
  if (change.experiment == 0) change.experiment = change.id;
  if (unwritten_.size() >= kMostUnwritten) unwritten_.pop_front();
  unwritten_.push_back(change);
  why_unwritten_ = recorded.error();
  note(change);
  log_->error(
      "policy.unwritten", "a change is in force but not saved",
      {{"what", change.what}, {"error", recorded.error()}, {"effect", "a restart of the controller would lose it"}});
}

Status ChangeLog::write_late() {
  while (!unwritten_.empty()) {
    Change change = unwritten_.front();
    if (const Status written = file_->add(change); !written) {
      why_unwritten_ = written.error();
      return written;
    }
    log_->info("policy.written_late", "an unsaved change has been saved",
               {{"change", change.id}, {"what", change.what}});
    unwritten_.pop_front();
  }
  why_unwritten_.reset();
  return {};
}

Result<std::optional<Change>> ChangeLog::to_go_back_to(std::optional<std::int64_t> id) {
  bool present = true;
  for (auto change = recent_.rbegin(); change != recent_.rend(); ++change) {
    if (change->standing.empty()) continue;
    if (id ? change->id == *id : !present) return std::optional(*change);
    present = false;
  }
  if (!id || !file_) return std::optional<Change>();
  WATTLE_TRY(auto found, file_->before(*id + 1));
  if (found && found->id != *id) found.reset();
  return found;
}

}  // namespace wattle::controller
