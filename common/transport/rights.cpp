#include "common/transport/rights.hpp"

namespace wattle::transport {

namespace {
using wire::Kind;

constexpr Roles kAgent = Roles::of(Role::agent);
constexpr Roles kAskers = Roles::of(Role::shim, Role::operator_);
constexpr Roles kListeners = Roles::of(Role::shim, Role::reader, Role::operator_);
constexpr Roles kLookers = Roles::of(Role::reader, Role::operator_);
constexpr Roles kOperator = Roles::of(Role::operator_);

constexpr std::array kRights{
    Right{Channel::telemetry, Kind::hello, {}, kAgent},
    Right{Channel::telemetry, Kind::samples, {}, kAgent},
    Right{Channel::telemetry, Kind::live, {}, kAgent},
    Right{Channel::telemetry, Kind::ping, {}, kAgent},
    Right{Channel::telemetry, Kind::pong, {}, kAgent},
    Right{Channel::telemetry, Kind::placement, {}, kAgent},
    Right{Channel::telemetry, Kind::goodbye, {}, kAgent},
    Right{Channel::feed, std::nullopt, {}, kListeners},
    Right{Channel::ask, Kind::ask, {}, kAskers},
    Right{Channel::ask, Kind::query, "snapshot", kListeners},
    Right{Channel::ask, Kind::query, "latency", kListeners},
    Right{Channel::ask, Kind::query, "shim", kAskers},
    Right{Channel::ask, Kind::query, "confirm", kOperator},
    Right{Channel::ask, Kind::query, "done", kOperator},
    Right{Channel::ask, Kind::query, "policy-set", kOperator},
    Right{Channel::ask, Kind::query, "policy-promote", kOperator},
    Right{Channel::ask, Kind::query, "policy-rollback", kOperator},
    Right{Channel::ask, Kind::query, "provision-mode", kOperator},
    Right{Channel::ask, Kind::query, "provision-report", kOperator},
    Right{Channel::ask, Kind::query, "model-save", kOperator},
    Right{Channel::ask, Kind::query, "model-add", kOperator},
    Right{Channel::ask, Kind::query, "model-load", kOperator},
    Right{Channel::ask, Kind::query, "sleep-empty", kOperator},
    Right{Channel::ask, Kind::query, "sleep-exclude", kOperator},
    Right{Channel::ask, Kind::query, "sleep-now", kOperator},
    Right{Channel::ask, Kind::query, "sleep-wake", kOperator},
    Right{Channel::ask, Kind::query, "backup", kOperator},
    Right{Channel::ask, Kind::query, {}, kLookers},
};

constexpr std::array<std::string_view, kRefusedReasons> kReasons{
    "unknown_key", "no_key",      "wrong_server_key", "handshake",   "revoked_key", "role",
    "node",        "kind",        "malformed",        "session",     "routing_id",  "unfinished",
    "unread",      "connections", "subscription",     "descriptors", "busy"};
constexpr std::array<std::string_view, kChannels.size()> kChannelNames{"telemetry", "feed", "ask"};

const Right* right_of(Channel channel, std::optional<Kind> kind, std::string_view query) {
  const Right* best = nullptr;
  for (const Right& right : kRights) {
    if (right.channel != channel || right.kind != kind) continue;
    if (kind != Kind::query || right.query == query) return &right;
    if (right.query.empty()) best = &right;
  }
  return best;
}
}  // namespace

std::string_view to_string(Channel channel) { return kChannelNames[static_cast<std::size_t>(channel)]; }
std::string_view to_string(Refused reason) { return kReasons[static_cast<std::size_t>(reason)]; }
std::span<const Right> rights() { return kRights; }

std::optional<Refused> refused(Channel channel, std::optional<Kind> kind, std::string_view query, Role role) {
  const Right* right = right_of(channel, kind, query);
  if (right == nullptr) return Refused::kind;
  if (!right->roles.has(role)) return Refused::role;
  return std::nullopt;
}

std::string roles_text(Channel channel, std::optional<Kind> kind, std::string_view query) {
  std::string text;
  const Right* right = right_of(channel, kind, query);
  for (const Role role : kRoles) {
    if (right == nullptr || !right->roles.has(role)) continue;
    text += (text.empty() ? "" : " or ") + std::string(to_string(role));
  }
  return text.empty() ? "none" : text;
}

}  // namespace wattle::transport
