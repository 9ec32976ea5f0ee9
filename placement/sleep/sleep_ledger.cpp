#include "placement/sleep/sleep_ledger.hpp"

#include <algorithm>

#include "placement/cluster/pack_fields.hpp"

namespace wattle::placement::sleep {

namespace {

constexpr Duration kHour = std::chrono::hours(1);

bool rests_still(WallTime moved, WallTime now, Duration rest) { return now - moved < rest; }

}  // namespace

void SleepLedger::moved(std::string_view pod, std::string_view owner, WallTime now) {
  note(moves_, now);
  if (!pod.empty()) pods_[std::string(pod)] = now;
  if (!owner.empty()) owners_[std::string(owner)] = now;
}

void SleepLedger::did_not_move(std::string_view pod) {
  const auto found = pods_.find(pod);
  if (found != pods_.end()) pods_.erase(found);
}

std::size_t SleepLedger::within(const Times& times, WallTime now, Duration past) {
  return static_cast<std::size_t>(
      std::count_if(times.begin(), times.end(), [&](WallTime each) { return each > now - past; }));
}

std::size_t SleepLedger::moves_left(std::size_t pods, WallTime now, const MoveLimits& limits) const {
  const auto allowed =
      std::max(std::size_t{1}, static_cast<std::size_t>(limits.moves_ratio * static_cast<double>(pods)));
  const std::size_t made = within(moves_, now, kHour);
  return made < allowed ? allowed - made : 0;
}

Exclusion SleepLedger::rests(std::string_view pod, std::string_view owner, WallTime now,
                             const MoveLimits& limits) const {
  const auto moved_pod = pods_.find(pod);
  if (moved_pod != pods_.end() && rests_still(moved_pod->second, now, limits.pod_rest))
    return {ExcludedFor::moved_recently, "pod " + std::string(pod) + " was moved already today"};
  const auto moved_owner = owners_.find(owner);
  if (moved_owner != owners_.end() && rests_still(moved_owner->second, now, limits.owner_rest))
    return {ExcludedFor::moved_recently, "a pod of " + std::string(owner) + " was moved a moment ago"};
  return {};
}

void SleepLedger::forget_before(WallTime when) {
  for (Times* times : {&sleeps_, &wakes_, &moves_}) std::erase_if(*times, [&](WallTime each) { return each < when; });
  for (auto* named : {&pods_, &owners_}) std::erase_if(*named, [&](const auto& each) { return each.second < when; });
}

void SleepLedger::move(const WallStep& step) {
  for (Times* times : {&sleeps_, &wakes_, &moves_})
    for (WallTime& each : *times) each = step.moved(each);
  for (auto* named : {&pods_, &owners_})
    for (auto& [name, when] : *named) when = step.moved(when);
}

template <class V>
void SleepLedger::fields(V& v) {
  v(sleeps_, wakes_, moves_, pods_, owners_);
}

void SleepLedger::pack(PackWriter& out) const { pack_fields(out, *this); }
void SleepLedger::unpack(PackReader& in) { unpack_fields(in, *this); }

}  // namespace wattle::placement::sleep
