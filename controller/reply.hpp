// reply: replies to queries.
// Threads  values
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "common/result.hpp"
#include "common/transport/keys.hpp"
#include "common/wire/messages.hpp"

namespace wattle::controller {

inline wire::Reply reply_of(std::uint64_t request_id, Result<std::string> made) {
  if (made) return {request_id, true, std::move(*made), {}};
  return {request_id, false, {}, made.error().message()};
}

// A reply that was not ready when its query was read.
struct LateReply {
  std::string route;
  transport::Role role = transport::Role::operator_;
  wire::Reply reply;
};

}  // namespace wattle::controller
