// agent_link: socket on which the agent sends orders and gets reports.
// Source   AF_UNIX SOCK_SEQPACKET; one message at a time in each direction (common/actuation); the newest connection
//          replaces the old one
// Rules    the kernel identifies a peer's user (SO_PEERCRED); only root, our own user and the agent's user are accepted
// Errors   io, denied, not_found (no such user); an invalid message ends its connection
// Threads  single owner; never blocks
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "common/actuation.hpp"
#include "common/dir.hpp"
#include "common/result.hpp"

namespace wattle::actuator {

// Message of a peer; without orders it only asks for a report.
struct Message {
  std::optional<actuation::Orders> orders;
};

class AgentLink {
 public:
  static Result<AgentLink> open_(const std::string& path);
  // Descriptors to wait on; -1: none.
  int listener() const { return listener_.get(); }
  int peer() const { return peer_.get(); }
  // Accepts a waiting peer. An error names the peer that was rejected.
  Status accept();
  // Returns the peer's message, if there is one; an error ends its connection.
  Result<std::optional<Message>> receive();
  void send(const actuation::Report& report);

 private:
  AgentLink(Fd listener, std::vector<uid_t> allowed) : listener_(std::move(listener)), allowed_(std::move(allowed)) {}
  Fd listener_, peer_;
  std::vector<uid_t> allowed_;
};

}  // namespace wattle::actuator
