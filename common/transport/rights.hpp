// rights: who may send what to which of the controller's sockets, and what is counted when somebody may not.
// Source   kRights, the one place; docs/reference/security.md has the same table, and a test compares the two
// Errors   a Refused reason, never an exception
// Threads  values; RefusalCounts any
//
// What is in no row is for nobody. The feed reads nothing but subscriptions, so its rights hold at the handshake.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "common/transport/keys.hpp"
#include "common/wire/messages.hpp"

namespace wattle::transport {

// The controller's bound sockets.
enum class Channel : std::uint8_t { telemetry, feed, ask };
inline constexpr std::array kChannels{Channel::telemetry, Channel::feed, Channel::ask};
std::string_view to_string(Channel channel);

inline constexpr std::array kRoles{Role::agent, Role::shim, Role::reader, Role::operator_};

// A set of roles.
struct Roles {
  std::uint8_t bits = 0;
  template <class... Some>
  static constexpr Roles of(Some... some) {
    return {static_cast<std::uint8_t>((0U | ... | (1U << static_cast<unsigned>(some))))};
  }
  constexpr bool has(Role role) const { return (bits >> static_cast<unsigned>(role) & 1U) != 0; }
};

struct Right {
  Channel channel;
  std::optional<wire::Kind> kind;  // absent: subscribing, which is no message of ours
  std::string_view query;          // of kind query: that one; empty: every one that has no row of its own
  Roles roles;
};
std::span<const Right> rights();

// Why somebody is refused; label `reason` of wattle_controller_refused_total.
enum class Refused : std::uint8_t {
  unknown_key,       // handshake: the key is not on the allow list
  no_key,            // handshake: not CURVE, or with something that is no key
  wrong_server_key,  // handshake: the client takes another server for ours
  handshake,         // handshake: broken off, or no ZMTP at all
  revoked_key,       // a live connection whose key has been taken off the list, or given to somebody else
  role,              // the key's role may not do this
  node,              // an agent that speaks for another node
  kind,              // nobody sends this kind of message here
  malformed,         // no message
  session,           // telemetry out of order: no Hello, taken over, wire version, a value that cannot be
  routing_id,        // handshake: announces an id of its own
  unfinished,        // a message, or its parts so far, larger than one may be; ends the connection
  unread,            // holds more that is not read yet, by us or by itself, than it may; ends the connection
  connections,       // more connections with one key than there may be; ends the oldest
  subscription,      // to a topic that there is not; after 64 messages to the feed the connection ends
  descriptors,       // handshake: no descriptor is left for the connection
  busy,              // more waits of this peer than it has a right to (docs/reference/fairness.md)
};
inline constexpr std::size_t kRefusedReasons = 17;
std::string_view to_string(Refused reason);

// Absent: it may. `query` matters for kind query alone.
std::optional<Refused> refused(Channel channel, std::optional<wire::Kind> kind, std::string_view query, Role role);
// "shim or operator", for the mend.
std::string roles_text(Channel channel, std::optional<wire::Kind> kind, std::string_view query);

// By whom: one of the roles, or somebody who has shown no key of the list.
class RefusalCounts {
 public:
  using Who = std::optional<Role>;
  static constexpr std::array<Who, kRoles.size() + 1> kWho{Role::agent, Role::shim, Role::reader, Role::operator_,
                                                           std::nullopt};
  static std::string_view to_string(Who who) { return who ? transport::to_string(*who) : "unknown"; }
  void add(Channel channel, Refused reason, Who who) {
    counts_[index(channel, reason, who)].fetch_add(1, std::memory_order_relaxed);
  }
  std::uint64_t get(Channel channel, Refused reason, Who who) const {
    return counts_[index(channel, reason, who)].load(std::memory_order_relaxed);
  }
  std::uint64_t get(Channel channel, Refused reason) const {
    std::uint64_t sum = 0;
    for (const Who who : kWho) sum += get(channel, reason, who);
    return sum;
  }

 private:
  static std::size_t index(Channel channel, Refused reason, Who who) {
    const std::size_t row = static_cast<std::size_t>(channel) * kRefusedReasons + static_cast<std::size_t>(reason);
    return row * kWho.size() + (who ? static_cast<std::size_t>(*who) : kRoles.size());
  }
  std::array<std::atomic<std::uint64_t>, kChannels.size() * kRefusedReasons * kWho.size()> counts_{};
};

}  // namespace wattle::transport
