// link: the agent's way to the controller: what waits to be sent, and the session that sends it.
// Source   the sampler's records and the pods that came and went
// Enrols   where that is configured: a thread of its own asks for it; until it is done records wait
// Errors   open_ names the key file; after that the world's failures are states, told by values() and the log
// Threads  single owner; pump() never blocks on the network
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "agent/config.hpp"
#include "agent/delta_encoder.hpp"
#include "agent/enrol.hpp"
#include "agent/metrics.hpp"
#include "agent/sampler.hpp"
#include "common/clock.hpp"
#include "common/log.hpp"
#include "common/outbox.hpp"
#include "common/sqlite/spool.hpp"
#include "common/transport/session.hpp"
#include "common/transport/sockets.hpp"
#include "common/wire/messages.hpp"

namespace wattle::agent {

// What the agent says of itself when it meets the controller.
wire::Hello hello_of(const AgentConfig& config, const Sampler& sampler, const Record& first);

// Records that wait on disk, below state_dir; nothing when the configuration wants none.
Result<std::unique_ptr<sqlite::Spool>> open_spool(const AgentConfig& config, const Clock& clock);

class Link {
 public:
  // Without a spool records wait in memory.
  static Result<std::unique_ptr<Link>> open_(transport::Context& context, const AgentConfig& config,
                                             std::unique_ptr<sqlite::Spool> spool, wire::Hello hello,
                                             const Clock& clock, const Log& log);
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  // With what has ended since.
  void push(const Record& record, const std::vector<LimitMinute>& minutes = {});
  void report(const PodChange& change);
  // Call when the socket is readable, and when patience() is over.
  void pump(const Sampler& sampler);
  LinkValues values() const;
  // At which level pods are by their annotations, by UID, as the controller said; nothing once it has been silent for a minute.
  std::map<std::string, std::string> pod_levels() const;
  // The margins that it would have; nothing once it has been silent for 10 s.
  std::map<std::string, wire::MarginStep> margins() const;
  // Until pump() has something to do again.
  std::chrono::milliseconds patience() const;
  const transport::Socket& socket() const { return session_->socket(); }
  // Whether there is a socket, and whether to wake up when it is readable.
  bool listening() const { return session_ && session_->listening(); }

 private:
  Link(transport::Context& context, const AgentConfig& config, std::unique_ptr<sqlite::Spool> spool, wire::Hello hello,
       const Clock& clock, const Log& log);
  Status connect();
  void follow_enrolment(const Sampler& sampler);
  void tell_spool();

  transport::Context& context_;
  const ControllerConfig config_;
  const wire::Hello hello_;
  std::string node_;
  const Clock& clock_;
  const Log& log_;
  std::unique_ptr<Outbox> outbox_;
  sqlite::Spool* spool_ = nullptr;  // the outbox, if it is one
  bool durable_ = true;
  std::optional<transport::AgentSession> session_;  // none: the controller's key is not known yet
  std::optional<Enroller> enroller_;
  DeltaEncoder thinner_;
  bool welcomed_ = false, welcomed_once_ = false;
};

}  // namespace wattle::agent
