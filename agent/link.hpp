// link: the connection to the controller: queues records and pod changes, and sends them in a session.
// Source   the sampler's records, and pods that started and ended
// Sleeps   if the controller orders it (power/node_sleep.hpp)
// Enrols   if configured, its own thread enrols the agent; records wait until then
// Errors   open_ names the key file; later failures are reported in values() and the log
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
#include "agent/power/node_sleep.hpp"
#include "agent/sampler.hpp"
#include "common/clock.hpp"
#include "common/log.hpp"
#include "common/outbox.hpp"
#include "common/sqlite/fresh_outbox.hpp"
#include "common/transport/session.hpp"
#include "common/transport/sockets.hpp"
#include "common/wire/messages.hpp"

namespace wattle::agent {

// Returns the agent's first message to the controller.
wire::Hello hello_of(const AgentConfig& config, const Sampler& sampler, const Record& first);

// Opens the spool on disk below state_dir; null if the configuration has none.
Result<std::unique_ptr<sqlite::FreshOutbox>> open_spool(const AgentConfig& config, const Clock& clock);

struct SentStudent {
  std::uint64_t version = 0;                // 0: none is in use
  std::shared_ptr<const std::string> file;  // null: it has not arrived
};

class Link {
 public:
  // `spool` null: records wait in memory.
  static Result<std::unique_ptr<Link>> open_(transport::Context& context, const AgentConfig& config,
                                             std::unique_ptr<sqlite::FreshOutbox> spool, wire::Hello hello,
                                             const Clock& clock, const Log& log);
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  // `minutes`: those that ended since the last call.
  void push(const Record& record, const std::vector<LimitMinute>& minutes = {});
  void report(const PodChange& change);
  // Call when the socket is readable, and when patience() has passed.
  void pump(const Sampler& sampler);
  LinkValues values() const;
  // Levels of pods by their annotations, by UID, as received from the controller; empty after a minute without
  // messages.
  std::map<std::string, std::string> pod_levels() const;
  // Margins that the controller orders; empty after 10 s without messages.
  std::map<std::string, wire::MarginStep> margins() const;
  // Shortest interval of records that the controller asks for; 0: none, as after a minute without messages.
  Duration tick() const;
  // The student that the controller sends; no value before its first message.
  std::optional<SentStudent> student() const;
  // Time until pump() has work again.
  std::chrono::milliseconds patience() const;
  const transport::Socket& socket() const { return session_->socket(); }
  // Returns whether an earlier start of this node used our incarnation, so that no record would count.
  bool reused() const { return session_ && session_->status().reused; }
  // Returns whether there is a socket to wait for.
  bool listening() const { return session_ && session_->listening(); }

 private:
  Link(transport::Context& context, const AgentConfig& config, std::unique_ptr<sqlite::FreshOutbox> spool,
       wire::Hello hello, const Clock& clock, const Log& log);
  Status connect();
  void follow_enrolment(const Sampler& sampler);
  void report_spool();

  transport::Context& context_;
  const ControllerConfig config_;
  const wire::Hello hello_;
  std::string node_;
  const Clock& clock_;
  const Log& log_;
  std::unique_ptr<Outbox> outbox_;
  sqlite::FreshOutbox* spool_ = nullptr;  // the outbox, if it is a spool
  bool durable_ = true;
  std::optional<transport::AgentSession> session_;  // no value: the controller's key is not known yet
  std::optional<Enroller> enroller_;
  NodeSleep sleep_;
  DeltaEncoder thinner_;
  bool welcomed_ = false, welcomed_once_ = false;
};

}  // namespace wattle::agent
