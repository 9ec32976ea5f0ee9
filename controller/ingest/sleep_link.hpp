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
  SleepLink(Telemetry& telemetry, transport::Server& socket) : telemetry_(telemetry), socket_(socket) {}
  // Sends the order. Without an answer within a few seconds, send it again: a repeat is harmless.
  Status order(const std::string& node, const wire::SleepOrder& order);

 private:
  Telemetry& telemetry_;
  transport::Server& socket_;
};

}  // namespace wattle::controller
