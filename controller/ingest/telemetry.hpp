// telemetry: the controller's side of the agents' sessions, without a socket: bytes in, messages out.
// Rules    a key of role agent speaks for its own node only; Hello first; the higher incarnation of a node takes over at
//          once, a lower one is refused while the higher lives; two that keep taking over from each other are both cut;
//          records are taken once by (node, incarnation, seq) and acknowledged cumulatively, refused ones too, since
//          sending them again would not mend them; what cannot be decoded ends the session
// Errors   none outward: each becomes a Refusal, a number in the figures and one line in the log per node
// Threads  single owner
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/clock.hpp"
#include "common/log.hpp"
#include "common/transport/sockets.hpp"
#include "common/wire/messages.hpp"

namespace wattle::controller {

// Whoever takes what the sessions bring.
class TelemetrySink {
 public:
  virtual ~TelemetrySink() = default;
  virtual void on_hello(const wire::Hello& hello) = 0;
  virtual void on_record(const std::string& node, const Record& record) = 0;
  virtual void on_placement(const wire::Placement& placement) = 0;
  virtual void on_lost(const std::string& node) = 0;
};

struct TelemetryFigures {
  std::uint64_t records = 0;     // taken
  std::uint64_t duplicates = 0;  // had already
  std::uint64_t refused = 0;     // out of range
  std::uint64_t missing = 0;     // numbers that were skipped
  std::uint64_t garbage = 0;     // messages that made no sense, or came from whom they may not
  std::uint64_t refusals = 0;
  std::uint64_t takeovers = 0;
};

class Telemetry {
 public:
  Telemetry(const Clock& clock, const Log& log, TelemetrySink& sink) : clock_(clock), log_(log), sink_(sink) {}
  // Answers to the same peer.
  std::vector<wire::Message> receive(const transport::Incoming& incoming);
  // Sessions that have been silent too long are over.
  void expire();
  std::size_t sessions() const { return sessions_.size(); }
  const TelemetryFigures& figures() const { return figures_; }

 private:
  struct Mark {
    std::uint64_t incarnation = 0;
    std::uint64_t seq = 0;
    auto operator<=>(const Mark&) const = default;
  };
  struct Session {
    std::string route;
    std::uint64_t incarnation = 0;
    MonoTime heard{};
  };
  struct History {  // of a node, beyond its sessions
    std::optional<Mark> mark;
    std::string cut_route;            // ignored until it says Hello again
    std::vector<MonoTime> takeovers;  // by equals, of late
    std::optional<MonoTime> cut_until;
    bool garbage_told = false, refused_told = false;
  };

  std::vector<wire::Message> refuse(const transport::Incoming& from, std::string subject, std::string what,
                                    std::string mend);
  std::vector<wire::Message> on_hello(const transport::Incoming& from, const wire::Hello& hello);
  std::vector<wire::Message> on_samples(Session& session, const std::string& node, wire::Samples& samples);
  std::vector<wire::Message> on_placement(const transport::Incoming& from, const wire::Placement& placement);
  bool too_many_takeovers(History& history);
  void end_session(const std::string& node);

  const Clock& clock_;
  const Log& log_;
  TelemetrySink& sink_;
  std::map<std::string, Session> sessions_;  // by node
  std::map<std::string, History> history_;   // by identity name
  TelemetryFigures figures_;
};

}  // namespace wattle::controller
