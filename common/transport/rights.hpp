// rights: the messages that each role may send to each of the controller's sockets, and counts of refusals.
// Source   kRights, the only definition; docs/reference/security.md has the same table, and a test compares them
// Errors   a Refused reason, never an exception
// Threads  values; RefusalCounts any
//
// An action without a row is allowed to no role. The feed accepts only subscriptions, so its rights are checked at the
// handshake.
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
  std::optional<wire::Kind> kind;  // unset: subscribing, which has no message of ours
  std::string_view query;          // for kind query: its name; empty: all queries without their own row
  Roles roles;
};
std::span<const Right> rights();

// Reason of a refusal; label `reason` of wattle_controller_refused_total.
enum class Refused : std::uint8_t {
  unknown_key,       // handshake: the key is not on the allow list
  no_key,            // handshake: not CURVE, or the key is malformed
  wrong_server_key,  // handshake: the client expects another server key
  handshake,         // handshake: aborted, or not ZMTP
  revoked_key,       // a live connection whose key was removed from the list or given to another identity
  role,              // the key's role may not do this
  node,              // an agent that reports for another node
  kind,              // this kind of message is not accepted here
  malformed,         // not a message
  session,           // telemetry out of order: no Hello, taken over, other wire version, impossible value
  routing_id,        // handshake: sets its own routing id
  unfinished,        // a message, complete or partial, exceeds its size limit; ends the connection
  unread,            // unread data exceeds its limit, on our side or the peer's; ends the connection
  connections,       // too many connections with one key; ends the oldest
  subscription,      // unknown topic; after 64 messages to the feed the connection ends
  descriptors,       // handshake: no descriptor left for the connection
  busy,              // more requests of this peer wait than its share (docs/reference/fairness.md)
};
inline constexpr std::size_t kRefusedReasons = 17;
std::string_view to_string(Refused reason);

// Returns why the request is refused; unset if it is allowed. `query` matters only for kind query.
std::optional<Refused> refused(Channel channel, std::optional<wire::Kind> kind, std::string_view query, Role role);
// Text such as "shim or operator", for the fix in an error.
std::string roles_text(Channel channel, std::optional<wire::Kind> kind, std::string_view query);

// Counts by role; unset for a peer without a key on the list.
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
