#include "sim/live/power_api.hpp"

#include <string>

#include "common/json/value.hpp"
#include "sim/live/swarm_api.hpp"

namespace wattle::sim::live {

using json = SortedJson;

namespace {

constexpr const char* kDepth = "off";

std::string text_of(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

json able(const ServerSwitch& power) {
  json answer;
  answer["depths"] = json::array({kDepth});
  answer["wake_time_s"] = power.boot_s();
  answer["asleep_power_w"] = ServerSwitch::off_w();
  return answer;
}

// Only a node that is off has known watts for its driver; a node that runs reports its own.
json observed(const ServerSwitch& power) {
  const bool off = power.state() == ServerSwitch::State::off;
  json answer;
  answer["state"] = off ? "off" : "on";
  if (off) answer["power_w"] = power.power_w();
  return answer;
}

}  // namespace

http::Response answer_power(Fleet& fleet, std::string_view body, MonoTime now) {
  const json object = json::read(body, {.text_bytes = 1 << 20, .built_bytes = 16 << 20});
  if (!object.is_object()) return answer_error({Errc::malformed, "request", "is not a JSON object", ""});
  const auto node = fleet.index_of(text_of(object, "node"));
  if (!node) return answer_error({Errc::not_found, "node", "is no simulated node", "GET /nodes lists them"});
  if (!fleet.can_sleep())
    return answer_error({Errc::conflict, "swarm", "has nodes that cannot sleep", "set sleep_speedup"});
  fleet.follow(now);
  const std::string request = text_of(object, "request");
  json answer = json::object();
  if (request == "probe") {
    answer = able(fleet.power_switch(*node));
  } else if (request == "observe") {
    answer = observed(fleet.power_switch(*node));
  } else if (request == "wake") {
    fleet.turn(*node, true, now);
  } else if (request == "sleep") {
    if (text_of(object, "depth") != kDepth)
      return answer_error({Errc::conflict, "depth", "is not off, the only one of a simulated node", ""});
    fleet.turn(*node, false, now);
  } else {
    return answer_error({Errc::malformed, "request", "is none of probe, sleep, wake, observe", ""});
  }
  return {200, "application/json", answer.dump() + "\n"};
}

}  // namespace wattle::sim::live
