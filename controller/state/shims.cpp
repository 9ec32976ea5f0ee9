#include "controller/state/shims.hpp"

#include <algorithm>

#include "common/parse.hpp"

namespace wattle::controller {
namespace {

using Facts = std::map<std::string, std::string>;
constexpr std::size_t kMostText = 253;                 // a DNS name
constexpr std::uint64_t kMostSeconds = 5'000'000'000;  // the year 2128; nanoseconds can represent more
constexpr std::uint64_t kMostAgo_ms = 1'000'000'000'000;

Result<std::uint64_t> number(const Facts& facts, const char* name) {
  const auto found = facts.find(name);
  if (found == facts.end()) return 0;
  if (const auto value = parse::u64(found->second)) return *value;
  return fail(Errc::malformed, "beat", std::string(name) + " is not a number", "upgrade the shim");
}

Result<std::string> text(const Facts& facts, const char* name) {
  const auto found = facts.find(name);
  if (found == facts.end()) return std::string();
  if (found->second.size() <= kMostText && parse::is_utf8(found->second)) return found->second;
  return fail(Errc::malformed, "beat", std::string(name) + " is not a name", "upgrade the shim");
}

}  // namespace

Status Shims::beat(const std::string& peer, const Facts& facts, MonoTime now) {
  Shim shim;
  shim.peer = peer;
  shim.beat_at = now;
  WATTLE_TRY(shim.host, text(facts, "host"));
  WATTLE_TRY(shim.version, text(facts, "version"));
  WATTLE_TRY(shim.asked, number(facts, "asked"));
  WATTLE_TRY(shim.without_controller, number(facts, "without_controller"));
  WATTLE_TRY(shim.breaker_opened, number(facts, "breaker_opened"));
  WATTLE_TRY(shim.wrong_paths, number(facts, "wrong_paths"));
  WATTLE_TRY(const std::uint64_t ago_ms, number(facts, "asked_ago_ms"));
  if (facts.contains("asked_ago_ms")) shim.asked_at = now - std::chrono::milliseconds(std::min(ago_ms, kMostAgo_ms));
  WATTLE_TRY(const std::uint64_t end_s, number(facts, "certificate_end_s"));
  if (end_s > 0 && end_s < kMostSeconds)
    shim.certificate_end = wall_from_ns(static_cast<std::int64_t>(end_s) * 1'000'000'000);
  const std::string key = peer + " " + shim.host;
  if (!shims_.contains(key) && shims_.size() >= kShimsKept)
    return fail(Errc::exhausted, peer, "more than " + std::to_string(kShimsKept) + " shims are registered");
  if (const auto names = facts.find("schedulers"); names != facts.end())
    for (const std::string_view name : parse::split(names->second, ','))
      if (!name.empty() && name.size() <= kMostText && parse::is_utf8(name) && schedulers_.size() < kSchedulersKept)
        schedulers_.emplace(name);
  shims_[key] = std::move(shim);
  return {};
}

void Shims::asked(const std::string& pod_uid, MonoTime now) {
  last_ask_ = now;
  if (pod_uid.empty() || !asked_.insert(pod_uid).second) return;
  asked_in_turn_.push_back(pod_uid);
  if (asked_in_turn_.size() <= kAsksKept) return;
  asked_.erase(asked_in_turn_.front());
  asked_in_turn_.pop_front();
}

void Shims::bound(const kube::Pod& pod, MonoTime now) {
  if (pod.daemonset || !schedulers_.contains(pod.scheduler)) return;
  if (minutes_.empty() || now - minutes_.back().began >= std::chrono::minutes(1)) minutes_.push_back({now, {}});
  const std::uint64_t unasked = asked_.contains(pod.uid) ? 0 : 1;
  for (Bindings* one : {&minutes_.back().bindings, &total_}) {
    ++one->pods;
    one->unasked += unasked;
  }
}

void Shims::expire(MonoTime now) {
  std::erase_if(shims_, [&](const auto& one) { return now - one.second.beat_at > kShimForgotten; });
  while (!minutes_.empty() && now - minutes_.front().began > kBindingsWindow) minutes_.pop_front();
}

std::size_t Shims::connected(MonoTime now) const {
  return static_cast<std::size_t>(
      std::count_if(shims_.begin(), shims_.end(), [&](const auto& one) { return connected(one.second, now); }));
}

Bindings Shims::recent() const {
  Bindings sum;
  for (const Minute& minute : minutes_) {
    sum.pods += minute.bindings.pods;
    sum.unasked += minute.bindings.unasked;
  }
  return sum;
}

}  // namespace wattle::controller
