#include "common/wire/messages.hpp"

#include <string_view>

namespace wattle::wire {

std::string_view to_string(Kind kind) {
  switch (kind) {
    case Kind::hello:
      return "hello";
    case Kind::welcome:
      return "welcome";
    case Kind::samples:
      return "samples";
    case Kind::ack:
      return "ack";
    case Kind::ping:
      return "ping";
    case Kind::pong:
      return "pong";
    case Kind::refusal:
      return "refusal";
    case Kind::ask:
      return "ask";
    case Kind::suggestion:
      return "suggestion";
    case Kind::decision:
      return "decision";
    case Kind::placement:
      return "placement";
    case Kind::board:
      return "board";
    case Kind::state_change:
      return "state_change";
    case Kind::snapshot:
      return "snapshot";
    case Kind::query:
      return "query";
    case Kind::reply:
      return "reply";
    case Kind::live:
      return "live";
    case Kind::sleep_order:
      return "sleep_order";
    case Kind::goodbye:
      return "goodbye";
  }
  return "unknown";
}

Kind kind_of(const Message& message) {
  // Message lists its kinds in the order of Kind.
  return static_cast<Kind>(message.index() + 1);
}

}  // namespace wattle::wire
