// feeder: asks the controller for what the screen shows, when the feed says that something changed, so that keys never wait for a controller.
// Source   wire::StateChange on the feed; documents status, nodes and node of docs/reference/api.md
// Errors   told in place of a document, and asked again
// Threads  one of its own, the only user of controller and feed while this lives; want() and take() from the owner's
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "cli/controller.hpp"
#include "common/clock.hpp"
#include "common/json/value.hpp"

namespace wattle::cli::top {

struct Update {
  std::string node;  // what was wanted: a node, or empty for the fleet
  Result<OrderedJson> document;
};

class Feeder {
 public:
  // Both outlive it. It begins with the fleet.
  Feeder(Controller& controller, transport::Subscriber& feed, const Clock& clock);
  // Waits for an answer that is on its way, no longer than the controller's timeout.
  ~Feeder();
  Feeder(const Feeder&) = delete;
  Feeder& operator=(const Feeder&) = delete;

  // Asks for it at once.
  void want(const std::string& node);
  // The newest answer, once.
  std::optional<Update> take();

 private:
  void run();
  Result<OrderedJson> ask(const std::string& node);

  Controller& controller_;
  transport::Subscriber& feed_;
  const Clock& clock_;
  std::mutex mutex_;
  std::string wanted_;
  bool at_once_ = true, stop_ = false;
  std::optional<Update> told_;
  std::thread thread_;  // last: it uses the rest
};

}  // namespace wattle::cli::top
