// agent_link: the socket at which the agent tells what to do and is told what was done.
// Source   AF_UNIX SOCK_SEQPACKET; one message each way at a time (common/actuation); the newest connection counts
// Rules    a peer is taken by its user as the kernel tells it (SO_PEERCRED): root, our own, and the agent's
// Errors   io, denied, not_found (no such user); a message that is none ends its connection
// Threads  single owner; never waits
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "common/actuation.hpp"
#include "common/dir.hpp"
#include "common/result.hpp"

namespace wattle::actuator {

// What a peer said; without orders it only asks for a report.
struct Message {
  std::optional<actuation::Orders> orders;
};

class AgentLink {
 public:
  static Result<AgentLink> open_(const std::string& path, const std::string& agent_user);
  // To wait on; -1: none.
  int listener() const { return listener_.get(); }
  int peer() const { return peer_.get(); }
  // Takes a new peer, if one waits. An error says who was sent away.
  Status accept();
  // What the peer said, if it said something; an error ends its connection.
  Result<std::optional<Message>> receive();
  void send(const actuation::Report& report);

 private:
  AgentLink(Fd listener, std::vector<uid_t> allowed) : listener_(std::move(listener)), allowed_(std::move(allowed)) {}
  Fd listener_, peer_;
  std::vector<uid_t> allowed_;
};

}  // namespace wattle::actuator
