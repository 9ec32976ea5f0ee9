// swarm: many simulated nodes in one process, each a real agent to the controller: own CURVE key, session and records.
// Source   sim/live/fleet for what is measured, common/transport for how it is said
// Units    one record per `tick` and node, the nodes spread evenly over the tick
// Errors   start: not_found and denied for keys (names the file and the mend), conflict for the address; later the world's
//          failures are session states
// Threads  pump() belongs to one thread; HTTP handlers lock the fleet
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
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

namespace wattle::sim::live {

struct SwarmOptions {
  std::size_t nodes = 7;
  std::string endpoint = "tcp://127.0.0.1:7460";
  std::string keys_dir;    // <node>.key each
  std::string server_key;  // file with the controller's public key
  std::string listen_address = "127.0.0.1";
  std::uint16_t listen_port = 0;
  double tick_s = 1.0;
  std::size_t outbox_records = 600;  // per node, kept while the controller is away
  FleetOptions fleet;
};

// "127.0.0.1:8060" into listen_address and listen_port.
Status parse_listen(const std::string& text, SwarmOptions& options);
// Every key of a YAML file; unknown ones are errors.
Status load_swarm_config(const std::string& path, SwarmOptions& options);
// Makes keys that are missing; returns allow-list lines "<public key> agent <node>" of all of them.
Result<std::string> make_swarm_keys(const SwarmOptions& options);

struct SwarmStatus {
  std::size_t nodes = 0, welcomed = 0, pods = 0;
  std::uint64_t samples = 0, placements = 0, dropped = 0;
  std::string problem;  // of one node that is not welcomed
};

class Swarm {
 public:
  static Result<std::unique_ptr<Swarm>> start(const SwarmOptions& options, const Clock& clock, const Log& log);
  ~Swarm();
  // One round: waits at most `timeout` for a message or for `fd` (-1: none), then keeps sessions alive and samples who
  // is due.
  void pump(std::chrono::milliseconds timeout, int fd);
  std::uint16_t port() const { return server_->port(); }
  SwarmStatus status() const;
  // From sample to acknowledgement, over the last ones of all nodes; absent before the first.
  std::optional<double> ack_delay_s(double share) const;

 private:
  struct Node {
    std::unique_ptr<transport::MemoryOutbox> outbox;
    std::unique_ptr<transport::AgentSession> session;
    MonoTime due{};
    std::deque<std::pair<std::uint64_t, MonoTime>> unacked;  // seq and when it was sampled
  };
  Swarm(const SwarmOptions& options, const Clock& clock, const Log& log);
  Status connect(const SwarmOptions& options);
  std::map<std::string, http::Handler> routes();
  http::Response on_bind(const http::Request& request);
  http::Response on_unbind(const http::Request& request);
  void note_acks();

  const Clock& clock_;
  const Log& log_;
  Duration tick_;
  std::size_t outbox_records_;
  std::uint64_t incarnation_;
  transport::Context context_;
  std::vector<Node> nodes_;
  std::vector<const transport::Socket*> sockets_;
  std::uint64_t samples_ = 0, placements_ = 0;
  std::deque<double> ack_delays_s_;  // the last ones, of all nodes

  mutable std::mutex mutex_;  // of the three below
  Fleet fleet_;
  std::vector<wire::Placement> reports_;
  std::vector<bool> connected_;

  std::optional<http::Server> server_;  // last: its handlers use all above
};

}  // namespace wattle::sim::live
