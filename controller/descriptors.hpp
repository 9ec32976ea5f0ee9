// descriptors: how many open files a controller needs for its fleet, and how many its peers may take.
// Gives    pure functions, and one warning for the log
// Units    open files (RLIMIT_NOFILE); 0 for a limit: unknown
// Threads  any
#pragma once

#include <cstdint>

#include "common/log.hpp"
#include "common/transport/keys.hpp"

namespace wattle::controller {

// Kept from peers: HTTP and enrolment take at most 256 connections each; store, files and threads the rest.
inline constexpr std::uint64_t kOwnDescriptors = 768;

// One for each agent and an eighth more for those that reconnect; a shim has up to 65 connections; others have a few.
std::uint64_t descriptors_needed(const transport::AllowList& allow);

// For ServerOptions::descriptors_below. Of a small limit peers get half.
int descriptors_for_peers(std::uint64_t limit);

void warn_of_few_descriptors(const transport::AllowList& allow, std::uint64_t limit, const Log& log);

}  // namespace wattle::controller
