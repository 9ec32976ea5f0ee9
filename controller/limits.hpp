// limits: how much of the loop's time and of memory a peer may use; docs/reference/fairness.md describes the same.
// Threads  values
#pragma once

#include "common/clock.hpp"
#include "controller/ingest/peer_queues.hpp"

namespace wattle::controller {

inline constexpr std::size_t kMiB = std::size_t{1} << 20;

// Asks are served in the order of their peers' recent usage. The tolerance is so long that debt delays no ask.
inline constexpr PeerLimits kAskLimits{256, 8 * kMiB, 64 * kMiB, 0.25, std::chrono::hours(1)};
// Limit for asks that are served between the steps of other work: only peers that owe less than this. Otherwise a peer
// that asks without pause would prolong that work many times.
inline constexpr Duration kOwesLittle = std::chrono::seconds(1);
// A query of 100 ms costs 2 s. A peer can send ten of them at once without a delay. Debt is limited, so that one slow
// query, or an order that waits for the disk, delays the peer's next one by five seconds at most: after kQueryAtMost
// its client gives up.
inline constexpr PeerLimits kQueryLimits{32, kMiB, 16 * kMiB, 0.05, std::chrono::seconds(20), std::chrono::seconds(25)};
inline constexpr Duration kQueryAtMost = std::chrono::seconds(10);
static_assert(kQueryLimits.most_owed - kQueryLimits.tolerance <= kQueryAtMost / 2);
// Permits 50 ms at once. Telemetry's credit keeps an agent's unacknowledged messages below these limits.
inline constexpr PeerLimits kTelemetryLimits{1024, 32 * kMiB, 256 * kMiB, 0.02, std::chrono::milliseconds(2500)};
// Share of the loop's time for all queries together.
inline constexpr double kQueriesShare = 0.25;
// Time per turn for each of asks, telemetry and HTTP. A turn always does at least one item of each.
inline constexpr Duration kSlice = std::chrono::milliseconds(10);
// Work in steps serves asks at this interval.
inline constexpr Duration kAsksEvery = std::chrono::microseconds(500);
// The largest clusters have fewer nodes.
inline constexpr std::size_t kMaxCandidates = 8192;

// High-water marks of libzmq, in messages per connection.
inline constexpr int kTelemetryQueue = 64;
inline constexpr int kAskQueue = 16;
inline constexpr int kAnswersQueue = 4;

}  // namespace wattle::controller
