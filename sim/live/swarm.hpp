// swarm: many simulated nodes in one process. To the controller each is a real agent with its own CURVE key, session
// and records.
// Source   sim/live/fleet for the measurements, common/transport for the protocol
// Sleep    with `sleep_speedup`, POST /power turns nodes off and on (swarm_api.hpp). A node that is off sends nothing;
//          after its boot it sends a Hello like a restarted agent
// Units    one record per `tick` and node, the nodes spread evenly over the tick
// Rounds   a round visits every node, so rounds of many nodes are spaced: 10 ms with 5,000
// Bound    a node takes four descriptors. If the limit per process is too low, several processes each simulate a part
//          of the nodes
// Errors   start: not_found and denied for keys (names the file and the fix), conflict for the address; later failures
//          are session states
// Threads  pump() belongs to one thread; HTTP handlers lock the fleet
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.hpp"
#include "common/http/server.hpp"
#include "common/log.hpp"
#include "common/transport/outbox.hpp"
#include "common/transport/session.hpp"
#include "sim/live/fleet.hpp"
#include "sim/live/kube_pods.hpp"
#include "sim/live/sleep_talk.hpp"
#include "sim/live/swarm_config.hpp"

namespace wattle::sim::live {

// Makes missing keys; returns allow-list lines "<public key> agent <node>" of all of them.
Result<std::string> make_swarm_keys(const SwarmOptions& options);

struct SwarmStatus {
  std::size_t nodes = 0, welcomed = 0, pods = 0;
  std::uint64_t samples = 0, placements = 0, dropped = 0;
  std::uint64_t waiting = 0;     // records without acknowledgement
  std::uint64_t reconnects = 0;  // summed over the nodes
  double oldest_s = 0;           // age of the oldest record without acknowledgement
  std::string problem;           // problem of one node whose session is not established
};

// Delay from sample to acknowledgement, over the records acknowledged in the last `window`.
struct AckDelays {
  std::size_t records = 0;
  double p50_s = 0, p99_s = 0, max_s = 0;
};

class Swarm {
 public:
  static Result<std::unique_ptr<Swarm>> start(const SwarmOptions& options, const Clock& clock, const Log& log);
  ~Swarm();
  // Runs one round: waits at most `timeout` for a message or for `fd` (-1: none), then keeps sessions alive and takes
  // due samples.
  void pump(std::chrono::milliseconds timeout, int fd);
  std::uint16_t port() const { return server_->port(); }
  SwarmStatus status() const;
  AckDelays ack_delays(Duration window) const;  // at most the last minute

 private:
  struct Node {
    bool runs = true;  // its agent has a session
    std::uint64_t incarnation = 0;
    SleepTalk talk;
    std::unique_ptr<transport::MemoryOutbox> outbox;
    std::unique_ptr<transport::AgentSession> session;
    MonoTime due{};                                          // time of its next sample
    MonoTime pump_at{};                                      // latest time of its next pump
    std::deque<std::pair<std::uint64_t, MonoTime>> unacked;  // seq and time of its sample
  };
  Swarm(const SwarmOptions& options, const Clock& clock, const Log& log);
  Status connect();
  Status begin(std::size_t i);
  void follow_power(MonoTime now);
  http::Routes routes();
  http::Response on_power(const http::Request& request);
  http::Response on_bind(const http::Request& request);
  http::Response on_unbind(const http::Request& request);
  http::Response on_status(const http::Request& request) const;
  // Returns per node whether it has data to read.
  std::vector<bool> wait(std::chrono::milliseconds timeout, int fd);
  void sample(MonoTime now, std::vector<bool>& busy);
  void note(MonoTime now);
  SwarmStatus status_now() const;

  const SwarmOptions options_;
  const Clock& clock_;
  const Log& log_;
  const Duration tick_;
  const std::uint64_t epoch_;  // of this start
  transport::ServerKeys server_keys_;
  transport::Context context_;
  std::vector<Node> nodes_;
  std::vector<const transport::Socket*> sockets_;
  std::uint64_t samples_ = 0, placements_ = 0;
  MonoTime round_at_{}, noted_at_{};

  mutable std::mutex mutex_;  // guards all below except the server
  Fleet fleet_;
  std::vector<wire::Placement> reports_;
  std::vector<bool> connected_;
  SwarmStatus reported_;                              // recent status, for HTTP
  std::deque<std::pair<MonoTime, double>> delays_s_;  // time of the acknowledgement, and the delay

  std::optional<KubePods> kube_;        // used by pump()'s thread
  std::optional<http::Server> server_;  // last: its handlers use all above
};

}  // namespace wattle::sim::live
