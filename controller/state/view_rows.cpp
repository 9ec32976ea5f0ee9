#include "controller/state/view_rows.hpp"

#include <algorithm>

namespace wattle::controller {
namespace {

constexpr Duration kRowRests = std::chrono::minutes(30);

}  // namespace

std::size_t ViewRows::add(const std::string& node, MonoTime now) {
  std::size_t row = view_.nodes.size();
  if (!free_rows_.empty() && now - free_rows_.front().second >= kRowRests) {
    row = free_rows_.front().first;
    free_rows_.erase(free_rows_.begin());
  } else {
    view_.nodes.emplace_back();
    sampled_at_.emplace_back();
    view_.edition_of.emplace_back();
  }
  change(row) = {};
  view_.nodes[row].name = node;
  sampled_at_[row].reset();
  return row;
}

void ViewRows::retire(std::size_t row, MonoTime now) {
  change(row) = {};
  change(row).ready = false;
  sampled_at_[row].reset();
  free_rows_.emplace_back(row, now);
}

void CountsByRow::add(const std::string& name, std::size_t row) {
  if (!name.empty()) ++rows_[name][row];
}

void CountsByRow::remove(const std::string& name, std::size_t row) {
  if (name.empty()) return;
  const auto found = rows_.find(name);
  const auto there = found->second.find(row);
  if (--there->second == 0) found->second.erase(there);
  if (found->second.empty()) rows_.erase(found);
}

const CountsByRow::Rows* CountsByRow::of(const std::string& name) const {
  const auto found = rows_.find(name);
  return found == rows_.end() ? nullptr : &found->second;
}

void ViewRows::count(const std::string& app, std::size_t row) { bound_.add(app, row); }
void ViewRows::uncount(const std::string& app, std::size_t row) { bound_.remove(app, row); }

// Walks rows, because a walk over names would cost as much as the decision.
void ViewRows::report_ages(MonoTime now) {
  for (std::size_t row = 0; row < view_.nodes.size(); ++row) report_age(row, now);
}

void ViewRows::report_ages(std::span<const std::size_t> rows, MonoTime now) {
  for (const std::size_t row : rows)
    if (row < view_.nodes.size()) report_age(row, now);
}

void ViewRows::report_age(std::size_t row, MonoTime now) {
  const std::optional<MonoTime>& at = sampled_at_[row];
  view_.nodes[row].telemetry_age = at ? std::optional(std::max(Duration{0}, now - *at)) : std::nullopt;
}

void ViewRows::report_same_app(const std::string& app, std::optional<std::size_t> itself) {
  for (const std::size_t row : same_app_) view_.nodes[row].same_app_pods = 0;
  same_app_.clear();
  const CountsByRow::Rows* same = bound_.of(app);
  if (same == nullptr) return;
  for (const auto& [row, pods] : *same) {
    view_.nodes[row].same_app_pods = pods;
    same_app_.push_back(row);
  }
  if (itself) --view_.nodes[*itself].same_app_pods;
}

void ViewRows::report_replicas(const std::string& owner, std::optional<std::size_t> itself) {
  for (const std::size_t row : same_owner_) view_.nodes[row].owner_pods = 0;
  same_owner_.clear();
  const CountsByRow::Rows* same = replicas_.of(owner);
  if (same == nullptr) return;
  for (const auto& [row, pods] : *same) {
    view_.nodes[row].owner_pods = pods;
    same_owner_.push_back(row);
  }
  if (itself) --view_.nodes[*itself].owner_pods;
}

void ViewRows::report_time(MonoTime now, std::size_t pending_pods) {
  view_.now = now;
  view_.pending_pods = pending_pods;
}

}  // namespace wattle::controller
