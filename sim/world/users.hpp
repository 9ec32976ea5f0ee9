// users: the users of serving pods: a closed loop, or open-loop requests that arrive independently of earlier ones.
// Source   closed loop: a fluid fixed point (world_users.cpp); open loop: each replica a queue M/M/1/K (Kleinrock 1975,
//          3.6)
// Units    seconds, requests per second, core-seconds
// Errors   none
// Threads  values, pure functions
#pragma once

#include <cstddef>
#include <vector>

namespace wattle::sim {

// A closed loop: each user sends a request, waits for the answer, thinks, and repeats. The serving pods share them
// evenly.
struct UserOptions {
  double count = 0;  // 0: no users
  double think_s = 1;
  double work_core_s = 0.1;  // of one request on an undisturbed core
};

// An open loop: each application has its share of all requests, spread evenly over its replicas.
struct RequestOptions {
  std::vector<double> per_s;  // by demand slot, the last value stays; empty: no requests
  std::size_t room = 32;      // requests that a replica holds, including the one in service; others fail
  double rate(std::size_t slot) const;
};

struct Queue {
  double failed_ratio = 0;  // of the arriving requests
  double response_s = 0;    // mean, of the answered requests
};
// Models a single worker with random arrivals and exponential service times of this mean.
Queue queue_of(double rate_per_s, double service_s, std::size_t room);

}  // namespace wattle::sim
