// role_figures: messages from the peers of each role, and the time of the loop that they used.
// Threads  values
#pragma once

#include <array>
#include <cstdint>

#include "common/clock.hpp"
#include "common/transport/rights.hpp"
#include "controller/ingest/peer_queues.hpp"

namespace wattle::controller {

struct RoleFigures {
  struct Role {
    std::uint64_t unread = 0;  // answers without room on a connection that does not read
    Duration used{};
  };
  Role& of(transport::Role role) { return roles[static_cast<std::size_t>(role)]; }
  const Role& of(transport::Role role) const { return roles[static_cast<std::size_t>(role)]; }
  std::array<Role, transport::kRoles.size()> roles{};
};

}  // namespace wattle::controller
