// timestamp: times in the API server's objects.
// Units    seconds since the epoch, UTC
// Errors   any other text gives 0
// Threads  pure
#pragma once

#include <cstdint>
#include <string>

namespace wattle::kube {

// Parses metav1.Time, "2026-01-31T12:00:00Z".
std::int64_t parse_time_s(const std::string& text);

}  // namespace wattle::kube
