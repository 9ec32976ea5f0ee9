// descriptors: how many open files a controller needs for its fleet, and how many its peers may take.
// Gives    pure functions, and one warning for the log
// Units    open files (RLIMIT_NOFILE); 0 for a limit: unknown
// Threads  any
#pragma once

#include <cstdint>

#include "common/log.hpp"
#include "common/transport/keys.hpp"

namespace wattle::controller {

// Kept from agents: 256 for those who ask (shims, the command line), so that operators are served when agents or strangers
// hold all the others; HTTP and enrolment take at most 256 connections each.
inline constexpr std::uint64_t kOwnDescriptors = 1024;
inline constexpr std::uint64_t kAskDescriptors = 256;

// One for each agent and an eighth more for those that reconnect; a shim has up to 65 connections; others have a few.
std::uint64_t descriptors_needed(const transport::AllowList& allow);

// For ServerOptions::descriptors_below. Of a small limit agents get half, and those who ask an eighth more.
int descriptors_for_agents(std::uint64_t limit);
int descriptors_for_asks(std::uint64_t limit);

void warn_of_few_descriptors(const transport::AllowList& allow, std::uint64_t limit, const Log& log);

}  // namespace wattle::controller
