#include "controller/power/redfish_power.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "controller/power/redfish_answer.hpp"
#include "controller/power/redfish_client.hpp"

namespace wattle::controller::power {
namespace {

constexpr const char* kSystems = "/redfish/v1/Systems";
// In order of preference. PushPowerButton toggles the power, so it comes last, and only if the state is known.
constexpr std::array<std::string_view, 2> kSleepTypes{"GracefulShutdown", "PushPowerButton"};
constexpr std::array<std::string_view, 3> kWakeTypes{"On", "ForceOn", "PushPowerButton"};

struct System {
  std::string path;
  RedfishSystem is;
};

Result<System> read_system(RedfishClient& client, const RedfishConfig& config, const Node& node) {
  System system;
  WATTLE_TRY(system.path, for_node(config.system, node));
  if (system.path.empty()) {
    WATTLE_TRY(const std::string body, client.get(kSystems));
    WATTLE_TRY(system.path, parse_only_member(body, client.url(kSystems)));
  }
  WATTLE_TRY(const std::string body, client.get(system.path));
  WATTLE_TRY(system.is, parse_system(body, client.url(system.path)));
  if (system.is.reset_types.empty() && !system.is.reset_info.empty()) {
    WATTLE_TRY(const std::string info, client.get(system.is.reset_info));
    WATTLE_TRY(system.is.reset_types, parse_reset_info(info, client.url(system.is.reset_info)));
  }
  return system;
}

// A system that names no types takes the first one, which every version of the schema has.
template <std::size_t N>
std::string_view choose(const std::array<std::string_view, N>& wanted, const RedfishSystem& system) {
  if (system.reset_target.empty()) return {};
  if (system.reset_types.empty()) return wanted[0];
  for (const std::string_view type : wanted)
    if (std::find(system.reset_types.begin(), system.reset_types.end(), type) != system.reset_types.end()) return type;
  return {};
}

bool is_there(const RedfishSystem& system, PowerState wanted) {
  return system.state == wanted || (wanted == PowerState::on ? system.turning_on : system.turning_off);
}

template <std::size_t N>
Status turn(RedfishClient& client, const RedfishConfig& config, const Node& node, PowerState wanted,
            const std::array<std::string_view, N>& types, const Operation& operation) {
  WATTLE_TRY(const System system, read_system(client, config, node));
  // A BMC may report a transition for ever, so only the first attempt waits for its end.
  if (system.is.state == wanted || (operation.attempt <= 1 && is_there(system.is, wanted))) return {};
  const std::string_view type = choose(types, system.is);
  const std::string subject = client.url(system.path);
  if (type.empty() || (type == "PushPowerButton" && system.is.state == PowerState::unknown))
    return fail(Errc::unsupported, subject,
                "the BMC offers no way to turn the node " +
                    std::string(kPowerStateNames[static_cast<std::size_t>(wanted)]) + " without force",
                "use another driver for it");
  const Status ordered = client.post(system.is.reset_target, {{"ResetType", type}});
  if (ordered) return {};
  // Some BMCs refuse an order that has already taken effect.
  const auto again = read_system(client, config, node);
  return again && is_there(again->is, wanted) ? Status() : ordered;
}

// Watts of the only system in the only chassis. A meter that cannot be read is ignored.
std::optional<double> read_power_w(RedfishClient& client, const RedfishSystem& system) {
  if (system.chassis.size() != 1) return std::nullopt;
  const auto body = client.get(system.chassis[0]);
  if (!body) return std::nullopt;
  const auto chassis = parse_chassis(*body, client.url(system.chassis[0]));
  if (!chassis || chassis->systems > 1) return std::nullopt;
  for (const std::string& meter : {chassis->environment, chassis->power}) {
    if (meter.empty()) continue;
    const auto answer = client.get(meter);
    if (!answer) continue;
    if (const auto watts = parse_power_w(*answer)) return watts;
  }
  return std::nullopt;
}

}  // namespace

Result<Capabilities> RedfishPower::probe(const Node& node, std::chrono::milliseconds limit) {
  const TimeLeft time(clock_, limit);
  WATTLE_TRY(const auto client, RedfishClient::open_(config_, node, time));
  WATTLE_TRY(const System system, read_system(*client, config_, node));
  Capabilities out;
  if (!choose(kSleepTypes, system.is).empty()) out.depths.push_back(Depth::off);
  out.can_wake = !choose(kWakeTypes, system.is).empty();
  out.can_observe = system.is.state != PowerState::unknown || system.is.turning_on || system.is.turning_off;
  if (system.is.state == PowerState::off) out.asleep_w = read_power_w(*client, system.is);
  return out;
}

Status RedfishPower::sleep(const Node& node, Depth depth, const Operation& operation) {
  if (depth != Depth::off)
    return fail(Errc::unsupported, node.name, "Redfish turns a node off and knows no other depth", "sleep it by off");
  const TimeLeft time(clock_, operation.limit);
  WATTLE_TRY(const auto client, RedfishClient::open_(config_, node, time));
  return turn(*client, config_, node, PowerState::off, kSleepTypes, operation);
}

Status RedfishPower::wake(const Node& node, const Operation& operation) {
  const TimeLeft time(clock_, operation.limit);
  WATTLE_TRY(const auto client, RedfishClient::open_(config_, node, time));
  return turn(*client, config_, node, PowerState::on, kWakeTypes, operation);
}

Result<Observation> RedfishPower::observe(const Node& node, std::chrono::milliseconds limit) {
  const TimeLeft time(clock_, limit);
  WATTLE_TRY(const auto client, RedfishClient::open_(config_, node, time));
  WATTLE_TRY(const System system, read_system(*client, config_, node));
  return Observation{system.is.state, read_power_w(*client, system.is)};
}

}  // namespace wattle::controller::power
