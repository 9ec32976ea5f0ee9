#include "controller/power/lifecycle_conditions.hpp"

#include <array>
#include <utility>

#include "common/parse.hpp"
#include "controller/power/rfc3339.hpp"

namespace wattle::controller::power {
namespace {

using json = SortedJson;
namespace core = placement::sleep;
using core::PowerState;

constexpr JsonLimits kVersionLimits{64 << 10, 1 << 20};
constexpr std::uint64_t kMinor = 37;

std::string text_in(const json& object, std::string_view key) {
  const json& value = object[key];
  return value.is_string() ? value.string() : std::string();
}

struct Wanted {
  std::string_view type;
  bool active = false;
};

// No value: Wattle does not control the node.
std::optional<std::array<Wanted, 3>> wanted_of(const core::NodePowerRecord& record) {
  const PowerState state = record.state;
  if (!record.marked || state == PowerState::awake || state == PowerState::blocked || state == PowerState::failed)
    return std::nullopt;
  const bool draining = state == PowerState::draining;
  const bool maintained = !draining && state != PowerState::idle;
  return std::array<Wanted, 3>{
      {{"DrainInProgress", draining}, {"Drained", !draining}, {"MaintenanceInProgress", maintained}}};
}

const json* find_condition(const json& node, std::string_view type) {
  const json& conditions = node["status"]["conditions"];
  if (!conditions.is_array()) return nullptr;
  for (const json& each : conditions)
    if (text_in(each, "type") == type) return &each;
  return nullptr;
}

json condition(const Wanted& wanted, const core::NodePowerRecord& record, WallTime now) {
  json out = json::object();
  out["type"] = std::string(wanted.type);
  out["status"] = wanted.active ? "True" : "False";
  out["reason"] = std::string(kSleepReason);
  out["message"] = "operation " + std::to_string(record.operation) + " of Wattle";
  out["lastTransitionTime"] = out["lastHeartbeatTime"] = rfc3339_text(now).substr(0, 19) + "Z";
  return out;
}

json removal(std::string_view type) {
  json out = json::object();
  out["$patch"] = "delete";
  out["type"] = std::string(type);
  return out;
}

}  // namespace

Result<bool> parse_has_conditions(const std::string& body) {
  WATTLE_TRY(const json version, json::parse(body, kVersionLimits, "/version"));
  const auto number = [&](const char* key) {
    const std::string text = text_in(version, key);
    return parse::u64(std::string_view(text).substr(0, text.find_first_not_of("0123456789")));
  };
  const auto major = number("major"), minor = number("minor");
  if (!major || !minor)
    return fail(Errc::malformed, "/version", "names no version", "check that kubernetes.server names an API server");
  return *major > 1 || (*major == 1 && *minor >= kMinor);
}

std::optional<json> patch_conditions(const json& node, const core::NodePowerRecord& record, WallTime now) {
  const auto wanted = wanted_of(record);
  json changes = json::array();
  for (const std::string_view type : {"DrainInProgress", "Drained", "MaintenanceInProgress"}) {
    const json* present = find_condition(node, type);
    const bool ours = present != nullptr && text_in(*present, "reason") == kSleepReason;
    if (!wanted) {
      if (ours) changes.push_back(removal(type));
      continue;
    }
    if (present != nullptr && !ours && text_in(*present, "status") == "True") continue;
    for (const Wanted& each : *wanted) {
      if (each.type != type) continue;
      if (ours && (text_in(*present, "status") == "True") == each.active) continue;
      changes.push_back(condition(each, record, now));
    }
  }
  if (changes.empty()) return std::nullopt;
  json patch = json::object();
  patch["status"]["conditions"] = std::move(changes);
  return patch;
}

}  // namespace wattle::controller::power
