// limits: how much of the loop's time and of memory a peer may take; docs/reference/fairness.md has the same for readers.
// Threads  values
#pragma once

#include "common/clock.hpp"
#include "controller/ingest/peer_queues.hpp"

namespace wattle::controller {

inline constexpr std::size_t kMiB = std::size_t{1} << 20;

// Asks are answered in the order of what their peers used of late; nobody is made to wait for his own sake.
inline constexpr PeerLimits kAskLimits{256, 8 * kMiB, 64 * kMiB, 0.25, std::chrono::hours(1)};
// But within other things only who owes less than this: who asks without end would make them take many times as long.
inline constexpr Duration kOwesLittle = std::chrono::seconds(1);
// A query of 100 ms costs 2 s; ten of them at once are answered at once.
inline constexpr PeerLimits kQueryLimits{32, kMiB, 16 * kMiB, 0.05, std::chrono::seconds(20)};
// 50 ms at once. What an agent may have sent and not seen acknowledged is less (Telemetry's credit).
inline constexpr PeerLimits kTelemetryLimits{1024, 32 * kMiB, 256 * kMiB, 0.02, std::chrono::milliseconds(2500)};
// Of all queries together.
inline constexpr double kQueriesShare = 0.25;
// Of a turn: of asks, of telemetry, of HTTP; one thing at least is done.
inline constexpr Duration kSlice = std::chrono::milliseconds(10);
// What takes longer lets asks in.
inline constexpr Duration kBreath = std::chrono::microseconds(500);
inline constexpr std::size_t kBreatheEvery = 32;  // pods, nodes
// More names than the largest clusters have nodes.
inline constexpr std::size_t kMaxCandidates = 8192;

// Messages that libzmq keeps for a connection.
inline constexpr int kTelemetryQueue = 64;
inline constexpr int kAskQueue = 16;
inline constexpr int kAnswersQueue = 4;

}  // namespace wattle::controller
