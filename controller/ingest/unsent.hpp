// unsent: answers for connections that have not taken those before; they are sent when there is room again.
// Bounds   of a connection kMostBytes, one answer at least; what is beyond is dropped: who does not read is not waited for
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

  // False: there is no room for it.
  bool send(const std::string& route, std::string bytes);
  // Whatever can be sent now.
  void flush();
  bool waits(const std::string& route) const { return routes_.contains(route); }
  bool empty() const { return routes_.empty(); }

 private:
  struct Route {
    std::deque<std::string> answers;
    std::size_t bytes = 0;
  };
  // True: nothing is left for it, or nobody is there.
  bool sent(const std::string& to, Route& route);

  Send send_;
  std::map<std::string, Route> routes_;
};

}  // namespace wattle::controller
