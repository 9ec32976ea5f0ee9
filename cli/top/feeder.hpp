// feeder: fetches the screen's documents from the controller after changes on the feed, so that keys never wait for a
// controller.
// Source   wire::StateChange on the feed; documents status, nodes and node of docs/reference/api.md
// Errors   returned in place of a document; the request is repeated
// Threads  its own thread, which alone uses controller and feed while this object exists; want() and take() from the
//          owner's
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
  std::string node;  // the requested node, or empty for the fleet
  Result<OrderedJson> document;
};

class Feeder {
 public:
  // Both must outlive this object. Starts with the fleet.
  Feeder(Controller& controller, transport::Subscriber& feed, const Clock& clock);
  // Waits for a pending answer, up to the controller's timeout.
  ~Feeder();
  Feeder(const Feeder&) = delete;
  Feeder& operator=(const Feeder&) = delete;

  // Requests the document at once.
  void want(const std::string& node);
  // Returns the newest answer once.
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
  std::optional<Update> reported_;
  std::thread thread_;  // last, because it uses the other members
};

}  // namespace wattle::cli::top
