// names: resolves host names to addresses without blocking the caller.
// Source   getaddrinfo(3) (hosts file, DNS, according to nsswitch.conf), on threads that exist only while names are
//          being resolved
// Gives    every address of both families, in the system's order of preference
// Errors   no addresses: the name does not exist (`known`), or no name server answers
// Threads  single owner; starts at most kMaxAskers threads; the destructor does not join threads that still wait
//
// getaddrinfo cannot be cancelled: a name server that does not answer blocks its thread for the time in resolv.conf.
// Names that failed last time get at most half of the threads, so that they cannot delay the others.
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
  bool known = false;  // no addresses, and the name certainly does not exist
  std::string problem;
};

class Names {
 public:
  static Result<Names> start();
  Names(Names&&) noexcept;
  Names& operator=(Names&&) = delete;
  ~Names();
  // Starts to resolve; the answer has this id. An id may be in use once at a time.
  void ask(std::size_t id, const std::string& host, std::uint16_t port, bool failed_before);
  // Returns the answers since the last call.
  std::vector<NameAnswer> take();
  // Readable when there are answers.
  int fd() const;

 private:
  struct State;
  explicit Names(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace wattle::agent
