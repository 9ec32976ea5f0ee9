// patience: limits for the waits of tests, in classes; no test names a number of seconds. A wait ends with its event,
// so the classes are generous.
// Source   WATTLE_PATIENCE, a factor that scripts/run-tests sets (4 under AddressSanitizer, 8 under ThreadSanitizer,
//          else 1); only patience.cpp reads it
// Units    std::chrono
// Threads  any
#pragma once

#include <chrono>
#include <functional>

namespace wattle::tests {

/// For an event that follows directly from the test's action in this process: half a minute.
std::chrono::milliseconds soon();
/// For an event that needs other processes or the kernel: four minutes.
std::chrono::milliseconds late();
/// For an event that must not happen: long enough to catch an immediate one. Half a second.
std::chrono::milliseconds moment();

/// Polls every five milliseconds until `event` is true. Returns false once `limit` has passed.
bool wait_until(const std::function<bool()>& event, std::chrono::milliseconds limit = soon());
/// Waits for a moment in which an event must not happen.
void let_a_moment_pass();
/// Waits for a time that is part of a test's input, for example a peer's delay. No claim may depend on its end.
void pace(std::chrono::nanoseconds time);

}  // namespace wattle::tests
