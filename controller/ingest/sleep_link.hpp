// sleep_link: carries sleep orders to the agents, over the session of each node. Goodbyes arrive through
// TelemetrySink::on_goodbye.
// Errors   unavailable (the node's agent is not connected, or does not read), unsupported (its agent is too old); each
//          names the node
// Threads  the loop's
#pragma once

#include <string>

#include "common/result.hpp"
#include "common/transport/sockets.hpp"
#include "common/wire/messages.hpp"
#include "controller/ingest/telemetry.hpp"

namespace wattle::controller {

class SleepLink {
 public:
  virtual ~SleepLink() = default;
  // Sends the order. Without an answer within a few seconds, send it again: a repeat is harmless.
  virtual Status order(const std::string& node, const wire::SleepOrder& order) = 0;
};

// The link over the telemetry socket.
class AgentSleepLink final : public SleepLink {
 public:
  AgentSleepLink(Telemetry& telemetry, transport::Server& socket) : telemetry_(telemetry), socket_(socket) {}
  Status order(const std::string& node, const wire::SleepOrder& order) override;

 private:
  Telemetry& telemetry_;
  transport::Server& socket_;
};

}  // namespace wattle::controller
