#include "provision/requests/owner_sizing.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "placement/cluster/pack_fields.hpp"

namespace wattle::placement {
namespace {

constexpr double kSizingDay_s = 86'400, kSizingHour_s = 3600;

}  // namespace

std::string_view to_string(SizingState state) {
  constexpr std::array<std::string_view, 5> kNames{"watched", "lowering", "held", "restoring", "waiting"};
  return kNames[static_cast<std::size_t>(state)];
}

std::string_view to_string(SizingOrderKind kind) {
  constexpr std::array<std::string_view, 4> kNames{"raise", "hold", "lower", "restore"};
  return kNames[static_cast<std::size_t>(kind)];
}

void ShadowUse::add(bool over_cpu, bool over_memory_now, double of_s, double now_s) {
  if (since_s == 0 || now_s < since_s) *this = {.since_s = now_s, .at_s = now_s};
  const double kept = std::exp(-std::max(0.0, now_s - at_s) / kSizingDay_s);
  at_s = std::max(at_s, now_s);
  seconds = seconds * kept + of_s;
  over_cpu_s = over_cpu_s * kept + (over_cpu ? of_s : 0);
  if (!over_memory_now) return;
  over_memory_at_s = now_s;
  over_memory += 1;
}

SizingOrder order_of(const OwnerSizing& state) {
  switch (state.state) {
    case SizingState::restoring:
      return {SizingOrderKind::restore, {}, {}};
    case SizingState::held:
      return {SizingOrderKind::hold, {}, {}};
    case SizingState::lowering: {
      SizingOrder order{SizingOrderKind::lower, state.target, {}};
      for (const auto& [uid, pod] : state.lowered)
        if (pod.at_s >= state.since_s) order.pods.push_back(uid);
      return order;
    }
    case SizingState::watched:
    case SizingState::waiting:
      break;
  }
  return {};
}

bool is_busy(const OwnerSizing& state, double now_s, const SizingOptions& options) {
  return state.state == SizingState::lowering || state.state == SizingState::restoring ||
         (state.state == SizingState::held && now_s - state.since_s < options.settle_s);
}

std::size_t pods_in_flight(const OwnerSizing& state) {
  if (state.state != SizingState::lowering) return 0;
  return static_cast<std::size_t>(std::count_if(state.lowered.begin(), state.lowered.end(), [&](const auto& pod) {
    return pod.second.at_s >= state.since_s && !pod.second.applied;
  }));
}

std::size_t pods_ordered(const OwnerSizing& state, double now_s) {
  return static_cast<std::size_t>(std::count_if(state.ordered_s.begin(), state.ordered_s.end(),
                                                [now_s](double at_s) { return now_s - at_s < kSizingHour_s; }));
}

bool in_share(std::string_view owner, std::uint64_t seed, double share) {
  // FNV-1a of the name, and the finaliser of SplitMix64.
  std::uint64_t hash = 14'695'981'039'346'656'037ULL ^ seed * 0x9e3779b97f4a7c15ULL;
  for (const char letter : owner) hash = (hash ^ static_cast<unsigned char>(letter)) * 1'099'511'628'211ULL;
  hash = (hash ^ hash >> 30U) * 0xbf58476d1ce4e5b9ULL;
  hash = (hash ^ hash >> 27U) * 0x94d049bb133111ebULL;
  hash ^= hash >> 31U;
  constexpr double kTwo53 = 9'007'199'254'740'992.0;
  return static_cast<double>(hash >> 11U) / kTwo53 < share;
}

void OwnerSizing::move(const WallStep& step) {
  for (double* at_s : {&since_s, &changed_s, &rolled_back_s, &shadow.since_s, &shadow.at_s, &shadow.over_memory_at_s})
    step.move_s(*at_s);
  step.move_end_s(until_s);
  for (auto& [uid, pod] : lowered) step.move_s(pod.at_s);
  for (double& at_s : ordered_s) step.move_s(at_s);
}

template <class V>
void LoweredPod::fields(V& v) {
  v.not_negative(before.cpu_cores, before.memory_bytes);
  v(at_s, applied);
}

template <class V>
void OwnerSizing::fields(V& v) {
  v.choice(state, static_cast<std::size_t>(SizingState::waiting) + 1);
  v(since_s, until_s, changed_s, rolled_back_s, why);
  v.not_negative(original.cpu_cores, original.memory_bytes, target.cpu_cores, target.memory_bytes);
  v(lowered, before, shadow.since_s, shadow.seconds, shadow.over_cpu_s, shadow.at_s, shadow.over_memory_at_s);
  v(shadow.over_memory, ordered_s, tries, steps, rollbacks, late);
}

void OwnerSizing::pack(PackWriter& out) const { pack_fields(out, *this); }
void OwnerSizing::unpack(PackReader& in) { unpack_fields(in, *this); }

}  // namespace wattle::placement
