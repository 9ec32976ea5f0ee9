// users: who asks the pods that serve: a closed loop of users, or requests that come whatever became of those before.
// Source   closed loop: a fluid fixed point (world_users.cpp); open loop: each replica a queue M/M/1/K (Kleinrock 1975, 3.6)
// Units    seconds, requests a second, core-seconds
// Errors   none
// Threads  values, pure functions
#pragma once

#include <cstddef>
#include <vector>

namespace wattle::sim {

// A closed loop: each user asks, waits for the answer, thinks, and asks again. Shared evenly by the pods that serve.
struct UserOptions {
  double count = 0;  // 0: nobody
  double think_s = 1;
  double work_core_s = 0.1;  // of one request on a core that nobody else wants
};

// An open loop: each application has its share of all requests, spread evenly over its replicas.
struct RequestOptions {
  std::vector<double> per_s;  // by demand slot, the last one stands; empty: nobody asks
  std::size_t room = 32;      // requests that a replica holds, the one at work included; more fail
  double rate(std::size_t slot) const;
};

struct Queue {
  double failed_ratio = 0;  // of the requests that come
  double response_s = 0;    // mean, of those that are answered
};
// One worker, requests at random times, service times exponential with this mean.
Queue queue_of(double rate_per_s, double service_s, std::size_t room);

}  // namespace wattle::sim
