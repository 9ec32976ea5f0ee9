// swarm_api: the HTTP interface of the swarm, as pure functions from text to values and back.
// Gives    POST /pods, DELETE /pods/UID, GET /pods, GET /nodes, GET /status, GET /livez, POST /power over a fleet that
//          the caller locks
// Units    in names
// Errors   malformed and out_of_range name the field; statuses 400 404 409 429 503
// Threads  pure except for the fleet that is passed in
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/http/server.hpp"
#include "sim/live/fleet.hpp"
#include "sim/live/swarm.hpp"

namespace wattle::sim::live {

// {uid, name, node, cpu_request_cores, memory_request_bytes, demand_cores, lifetime}: lifetime in seconds, optional.
Result<FleetPod> parse_pod(std::string_view body);
std::string pods_json(const Fleet& fleet);
// The truth about each node, including its curve: for accounting by `wattle-sim drive`, never for a scheduler. `epoch`
// differs after each start of the swarm.
std::string nodes_json(const Fleet& fleet, MonoTime now, std::uint64_t epoch, const std::vector<bool>& connected);

// Status of the swarm's sessions.
std::string status_json(const SwarmStatus& status, const AckDelays& delays);

http::Response answer_error(const Error& error);

// Answers POST /power: a request of the power driver `exec` (docs/reference/power-drivers.md, Programs), whose program
// only has to post its input and print the answer (curl --data-binary @- http://ADDRESS/power).
http::Response answer_power(Fleet& fleet, std::string_view body, MonoTime now);

}  // namespace wattle::sim::live
