// unsent: queues answers for connections that have not taken the earlier ones, and sends them when there is room.
// Bounds   per connection kMostBytes, and at least one answer; further answers are dropped, so that a peer that does
//          not read delays no other
// Errors   none
// Threads  single owner
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <string>

#include "common/transport/sockets.hpp"

namespace wattle::controller {

class Unsent {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{1} << 20;
  using Send = std::function<transport::Sent(const std::string& route, std::string_view bytes)>;
  explicit Unsent(Send send) : send_(std::move(send)) {}

  // Returns false if there is no room.
  bool send(const std::string& route, std::string bytes);
  // Sends all answers that the connections take now.
  void flush();
  bool waits(const std::string& route) const { return routes_.contains(route); }
  bool empty() const { return routes_.empty(); }

 private:
  struct Route {
    std::deque<std::string> answers;
    std::size_t bytes = 0;
  };
  // Returns true if the queue is empty or the connection is gone.
  bool sent(const std::string& to, Route& route);

  Send send_;
  std::map<std::string, Route> routes_;
};

}  // namespace wattle::controller
