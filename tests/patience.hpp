// patience: how long tests wait for an event, in classes; no test names a number of seconds. A wait that ends early costs nothing, so the classes are generous.
// Source   WATTLE_PATIENCE, a factor that scripts/run-tests sets (4 under AddressSanitizer, 8 under ThreadSanitizer, else 1); read here alone
// Units    std::chrono
// Threads  any
#pragma once

#include <chrono>
#include <functional>

namespace wattle::tests {

/// The event follows from what the test has just done, in this process: half a minute.
std::chrono::milliseconds soon();
/// Other processes or the kernel have to get there first: four minutes.
std::chrono::milliseconds late();
/// For what must not happen: long enough to catch a program that does it at once. Half a second.
std::chrono::milliseconds moment();

/// Polls until `event` is true, every five milliseconds; false once `limit` is over.
bool wait_until(const std::function<bool()>& event, std::chrono::milliseconds limit = soon());
/// Lets a moment pass in which something must not happen.
void let_a_moment_pass();
/// Time that is part of what a test puts in: how slow a peer is, how far apart samples are. No claim may follow from its being over.
void pace(std::chrono::nanoseconds time);

}  // namespace wattle::tests
