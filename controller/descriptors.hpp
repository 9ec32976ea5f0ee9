// descriptors: computes how many open files a controller needs for its fleet, and how many its peers may use.
// Gives    pure functions, and one warning for the log
// Units    open files (RLIMIT_NOFILE); 0 for a limit: unknown
// Threads  any
#pragma once

#include <cstdint>

#include "common/log.hpp"
#include "common/transport/keys.hpp"

namespace wattle::controller {

// Reserved for clients with requests (shims, the command line): 256, so that operators are served even when agents or
//          unknown peers hold all other descriptors. HTTP and enrolment use at most 256 connections each.
inline constexpr std::uint64_t kOwnDescriptors = 1024;
inline constexpr std::uint64_t kAskDescriptors = 256;

// Returns one descriptor per agent plus an eighth for reconnecting agents, up to 65 per shim, and a few per other peer.
std::uint64_t descriptors_needed(const transport::AllowList& allow);

// For ServerOptions::descriptors_below. If the limit is small, agents get half of it and clients with requests get an
// eighth more.
int descriptors_for_agents(std::uint64_t limit);
int descriptors_for_asks(std::uint64_t limit);

void warn_of_few_descriptors(const transport::AllowList& allow, std::uint64_t limit, const Log& log);

}  // namespace wattle::controller
