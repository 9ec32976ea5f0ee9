#include "shim/latency_veto.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "common/json/value.hpp"

namespace wattle::shim {
namespace {

using json = SortedJson;
constexpr Duration kKeptFor = std::chrono::seconds(1);  // covers a pod's filter and its retries, and a burst of pods
constexpr std::size_t kTargetsKept = 16;

std::string ms_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f ms", value);
  return text;
}

}  // namespace

Veto pass_all(const std::vector<std::string>& candidates, std::string_view reason) {
  return {candidates, {}, reason, {}};
}

Result<std::shared_ptr<const LatencyVeto::Known>> LatencyVeto::read(const std::string& target, const std::string& body,
                                                                    MonoTime now) {
  const json document = json::read(body, {.text_bytes = 8 << 20, .built_bytes = 64 << 20});
  const bool shaped = document.is_object() && document.contains("acting") && document["acting"].is_boolean() &&
                      document.contains("nodes") && document["nodes"].is_object();
  if (!shaped) return fail(Errc::malformed, "latency", "is not such a document");
  auto known = std::make_shared<Known>();
  known->target = target;
  known->at = now;
  known->acting = document["acting"].get<bool>();
  for (const auto& [node, p50] : document["nodes"].items())
    if (p50.is_number() && std::isfinite(p50.get<double>()) && p50.get<double>() >= 0)
      known->p50_ms[node] = p50.get<double>();
  return std::shared_ptr<const Known>(std::move(known));
}

Result<std::shared_ptr<const LatencyVeto::Known>> LatencyVeto::known(const std::string& target) {
  {
    const std::lock_guard lock(mutex_);
    const MonoTime now = clock_.mono();
    std::erase_if(kept_, [&](const auto& one) { return now - one->at >= kKeptFor; });
    for (const auto& one : kept_)
      if (one->target == target) return one;
  }
  WATTLE_TRY(const std::string body, asker_(target, deadline_));
  WATTLE_TRY(auto fresh, read(target, body, clock_.mono()));
  const std::lock_guard lock(mutex_);
  kept_.push_back(fresh);
  if (kept_.size() > kTargetsKept) kept_.pop_front();
  return fresh;
}

Veto LatencyVeto::judge(const wire::Ask& ask) {
  return promised(ask) ? pass_all(ask.candidates, "promised") : judge_by_limit(ask);
}

Veto LatencyVeto::judge_preemption(const wire::Ask& ask) {
  Veto veto = judge_by_limit(ask);
  if (ask.pod_uid.empty() || veto.reason != "judged" || veto.passed.empty()) return veto;
  const std::lock_guard lock(mutex_);
  std::erase_if(promises_, [&](const Promise& one) { return one.pod_uid == ask.pod_uid; });
  promises_.push_back({ask.pod_uid, {veto.passed.begin(), veto.passed.end()}, clock_.mono() + kPromisedFor});
  if (promises_.size() > kPromisesKept) promises_.pop_front();
  return veto;
}

bool LatencyVeto::promised(const wire::Ask& ask) {
  if (ask.candidates.size() != 1 || ask.pod_uid.empty()) return false;
  const std::lock_guard lock(mutex_);
  while (!promises_.empty() && promises_.front().until <= clock_.mono()) promises_.pop_front();
  return std::any_of(promises_.begin(), promises_.end(), [&](const Promise& one) {
    return one.pod_uid == ask.pod_uid && one.nodes.contains(ask.candidates.front());
  });
}

Veto LatencyVeto::judge_by_limit(const wire::Ask& ask) {
  if (ask.candidates.empty()) return pass_all(ask.candidates, "no_candidates");
  if (!ask.latency_hard_ms) return pass_all(ask.candidates, "no_limit");
  if (!ask.node_name.empty()) return pass_all(ask.candidates, "already_bound");
  const auto found = known(ask.latency_target);
  if (!found) {
    Veto open = pass_all(ask.candidates, to_string(found.error().code));
    open.failure = found.error().message();
    return open;
  }
  const Known& latency = **found;
  if (!latency.acting) return pass_all(ask.candidates, "neutral");
  const double limit_ms = *ask.latency_hard_ms;
  const auto p50_of = [&](const std::string& node) -> std::optional<double> {
    const auto at = latency.p50_ms.find(node);
    return at == latency.p50_ms.end() ? std::nullopt : std::optional(at->second);
  };
  const bool one_within = std::any_of(ask.candidates.begin(), ask.candidates.end(), [&](const std::string& node) {
    return p50_of(node).value_or(limit_ms + 1) <= limit_ms;
  });
  const std::string to = ask.latency_target.empty() ? "the default target" : ask.latency_target;
  Veto veto;
  veto.reason = "judged";
  for (const std::string& node : ask.candidates) {
    const auto p50_ms = p50_of(node);
    if (p50_ms ? *p50_ms <= limit_ms : !one_within) {
      veto.passed.push_back(node);
    } else {
      veto.vetoed[node] =
          p50_ms ? "latency to " + to + " is " + ms_text(*p50_ms) + ", above the hard limit of " + ms_text(limit_ms)
                 : "latency to " + to + " is unknown, but required by a hard limit of " + ms_text(limit_ms);
    }
  }
  return veto;
}

}  // namespace wattle::shim
