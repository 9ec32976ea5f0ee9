// controller: connects reading commands to the controller's ask socket.
// Source   wire::Query over CURVE (common/transport/ask_client); documents of docs/reference/api.md
// Errors   denied (key refused), unavailable (connection refused, at once; the link broke), timeout (no answer),
//          malformed (the answer is not a JSON object); refusals of the controller keep their code and text
// Threads  single owner
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "cli/settings.hpp"
#include "common/json/value.hpp"
#include "common/transport/ask_client.hpp"
#include "common/transport/sockets.hpp"

namespace wattle::cli {

class Controller {
 public:
  // Reads the keys; does not wait for the link.
  static Result<Controller> open_(const Settings& settings);
  // Waits at least `patience` for the answer.
  Result<OrderedJson> ask(const std::string& what, const std::map<std::string, std::string>& arguments,
                          std::chrono::milliseconds patience = {});
  // Subscribes to the controller's feed with the same keys. Does not wait for the link.
  Result<transport::Subscriber> listen(std::span<const std::string> topics);
  // Renews a login through a cluster. ask() calls it too; call it while only the feed is used.
  Status keep_valid() { return settings_.route == nullptr ? Status() : settings_.route->keep_valid(); }
  const Settings& settings() const { return settings_; }
  // True if the last error was an argument that the controller refuses (a usage error).
  bool refused_argument() const { return refused_argument_; }
  // Asks for the best node for the pod among ask.candidates. Needs an operator's key.
  Result<wire::Suggestion> place(const wire::Ask& ask);

 private:
  Controller(Settings settings, std::unique_ptr<transport::Context> context, transport::AskClient client)
      : settings_(std::move(settings)), context_(std::move(context)), client_(std::move(client)) {}

  Settings settings_;
  std::unique_ptr<transport::Context> context_;  // outlives client_
  transport::AskClient client_;
  bool refused_argument_ = false;
};

}  // namespace wattle::cli
