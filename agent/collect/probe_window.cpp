#include "agent/collect/probe_window.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "common/stats/quantile.hpp"

namespace wattle::agent {

std::string_view to_string(ProbeEnd end) {
  constexpr std::string_view kNames[] = {"answered", "dns", "refused", "timeout", "unreachable", "bad_answer"};
  return kNames[static_cast<std::size_t>(end)];
}

ProbeResult judge(MonoTime began, MonoTime now, Duration timeout, ProbeEnd end) {
  if (end != ProbeEnd::answered) return {now, end, 0};
  if (now - began > timeout) return {now, ProbeEnd::timeout, 0};
  return {now, end, seconds(now - began) * 1e3};
}

MonoTime next_due(MonoTime due, Duration interval, MonoTime now) {
  if (now < due) return due;
  return due + interval * ((now - due) / interval + 1);
}

void ProbeWindow::forget(MonoTime now) {
  while (!results_.empty() && now - results_.front().at > span_) results_.pop_front();
}

void ProbeWindow::add(const ProbeResult& result) {
  ++counts_[static_cast<std::size_t>(result.end)];
  if (result.end == ProbeEnd::answered) round_trips_.add(result.round_trip_ms / 1e3);
  results_.push_back(result);
  forget(result.at);  // bounds the memory even if values() is not called
}

ProbeValues ProbeWindow::values(const std::string& target, ProbeKind kind, MonoTime now) {
  forget(now);
  ProbeValues values;
  values.target = target;
  values.kind = kind;
  values.sent = results_.size();
  ProbeEnds ends{};
  sorted_.clear();
  double differences_ms = 0;
  std::optional<double> before_ms;
  for (const auto& result : results_) {
    ++ends[static_cast<std::size_t>(result.end)];
    if (result.end != ProbeEnd::answered) continue;
    if (before_ms) differences_ms += std::abs(result.round_trip_ms - *before_ms);
    before_ms = result.round_trip_ms;
    sorted_.push_back(result.round_trip_ms);
  }
  const auto ended = [&](ProbeEnd end) { return ends[static_cast<std::size_t>(end)]; };
  values.dns_failures = ended(ProbeEnd::dns);
  values.refusals = ended(ProbeEnd::refused);
  values.timeouts = ended(ProbeEnd::timeout);
  values.unreachables = ended(ProbeEnd::unreachable);
  values.bad_answers = ended(ProbeEnd::bad_answer);
  if (values.sent > 0)
    values.loss_ratio = static_cast<double>(values.sent - sorted_.size()) / static_cast<double>(values.sent);
  if (sorted_.empty()) return values;
  if (sorted_.size() > 1) values.jitter_ms = differences_ms / static_cast<double>(sorted_.size() - 1);
  std::sort(sorted_.begin(), sorted_.end());
  values.p50_ms = stats::quantile_of_sorted(sorted_, 0.5).value_or(0);
  values.p95_ms = stats::quantile_of_sorted(sorted_, 0.95).value_or(0);
  return values;
}

}  // namespace wattle::agent
