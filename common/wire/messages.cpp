#include "common/wire/messages.hpp"

#include <string_view>

#include "common/enum_name.hpp"

namespace wattle::wire {

std::string_view to_string(Kind kind) {
  constexpr std::string_view kNames[] = {"hello",     "welcome", "samples",      "ack",        "ping",
                                         "pong",      "refusal", "ask",          "suggestion", "decision",
                                         "placement", "board",   "state_change", "snapshot",   "query",
                                         "reply",     "live",    "sleep_order",  "goodbye"};
  return enum_name(kNames, kind, 1);
}

Kind kind_of(const Message& message) {
  // Message lists its kinds in the order of Kind.
  return static_cast<Kind>(message.index() + 1);
}

}  // namespace wattle::wire
