// role_figures: what peers of each role sent, and what of the loop's time it took.
// Threads  values
#pragma once

#include <array>
#include <cstdint>

#include "common/clock.hpp"
#include "common/transport/rights.hpp"

namespace wattle::controller {

struct RoleFigures {
  struct Role {
    std::uint64_t messages = 0;
    std::uint64_t dropped = 0;  // nobody would have had an answer: connection closed, session ended, deadline over
    std::uint64_t unread = 0;   // answers for which their connection, which does not read, had no room
    Duration used{};
  };
  Role& of(transport::Role role) { return roles[static_cast<std::size_t>(role)]; }
  const Role& of(transport::Role role) const { return roles[static_cast<std::size_t>(role)]; }
  std::array<Role, transport::kRoles.size()> roles{};
};

}  // namespace wattle::controller
