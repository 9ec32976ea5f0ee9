// names: host names to addresses, without waiting for them.
// Source   getaddrinfo(3) (hosts file, DNS, whatever nsswitch.conf says), on threads that live only while names are asked
// Gives    every address of both families, in the system's order of preference
// Errors   no addresses: the name does not exist (`known`), or no name server answers
// Threads  single owner; at most kMaxAskers of its own, which it leaves behind if they still wait when it goes
//
// getaddrinfo cannot be cancelled: a name server that does not answer holds its thread for as long as resolv.conf says.
// Names that were not found last time get at most half of the threads, so that they cannot keep others from theirs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/net_address.hpp"
#include "common/result.hpp"

namespace wattle::agent {

inline constexpr std::size_t kMaxAskers = 8;

struct NameAnswer {
  std::size_t id = 0;
  std::vector<NetAddress> addresses;
  bool known = false;  // without addresses: the name certainly has none
  std::string problem;
};

class Names {
 public:
  static Result<Names> start();
  Names(Names&&) noexcept;
  Names& operator=(Names&&) = delete;
  ~Names();
  // The answer will have this id. Ask one id once at a time.
  void ask(std::size_t id, const std::string& host, std::uint16_t port, bool failed_before);
  // What has been answered since the last call.
  std::vector<NameAnswer> take();
  // Readable when there is something to take.
  int fd() const;

 private:
  struct State;
  explicit Names(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace wattle::agent
