#include "sim/live/swarm_api.hpp"

#include <optional>

#include "common/json/value.hpp"

namespace wattle::sim::live {

using json = SortedJson;

namespace {

constexpr std::size_t kMaxText = 253;  // as Kubernetes limits names

struct Reader {
  const json& object;
  std::optional<Error> error;

  void refuse(Errc code, const char* key, std::string what) {
    if (!error) error = Error{code, std::string("pod.") + key, std::move(what), ""};
  }
  std::string text(const char* key, bool required) {
    const auto found = object.find(key);
    if (found == object.end()) {
      if (required) refuse(Errc::malformed, key, "is missing");
      return {};
    }
    if (!found->is_string()) {
      refuse(Errc::malformed, key, "is not a string");
      return {};
    }
    auto value = found->get<std::string>();
    if (value.size() > kMaxText || (required && value.empty()))
      refuse(Errc::out_of_range, key, "is empty or longer than 253 bytes");
    return value;
  }
  std::optional<double> number(const char* key, double max, bool required) {
    const auto found = object.find(key);
    if (found == object.end() || found->is_null()) {
      if (required) refuse(Errc::malformed, key, "is missing");
      return std::nullopt;
    }
    if (!found->is_number()) {
      refuse(Errc::malformed, key, "is not a number");
      return std::nullopt;
    }
    const auto value = found->get<double>();
    if (!(value >= 0 && value <= max)) refuse(Errc::out_of_range, key, "is not within 0 to " + json(max).dump());
    return value;
  }
};

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

Result<FleetPod> parse_pod(std::string_view body) {
  const json object = json::read(body, {.text_bytes = 1 << 20, .built_bytes = 16 << 20});
  if (!object.is_object()) return fail(Errc::malformed, "pod", "is not a JSON object");
  Reader reader{object, std::nullopt};
  FleetPod pod;
  pod.uid = reader.text("uid", true);
  pod.name = reader.text("name", false);
  pod.node = reader.text("node", true);
  pod.cpu_request_cores = reader.number("cpu_request_cores", 4096, false).value_or(0);
  pod.memory_request_bytes = reader.number("memory_request_bytes", 1e15, false).value_or(0);
  pod.demand_cores = reader.number("demand_cores", 4096, true).value_or(0);
  pod.lifetime_s = reader.number("lifetime", 1e9, false);
  if (reader.error) return tl::unexpected<Error>(*reader.error);
  return pod;
}

std::string pods_json(const Fleet& fleet) {
  json pods = json::array();
  for (const FleetPod& pod : fleet.list()) {
    pods.push_back({{"uid", pod.uid},
                    {"name", pod.name},
                    {"node", pod.node},
                    {"cpu_request_cores", pod.cpu_request_cores},
                    {"memory_request_bytes", pod.memory_request_bytes},
                    {"demand_cores", pod.demand_cores},
                    {"lifetime", pod.lifetime_s ? json(*pod.lifetime_s) : json(nullptr)}});
  }
  return json{{"pods", pods}}.dump();
}

std::string nodes_json(const Fleet& fleet, MonoTime now, std::uint64_t epoch, const std::vector<bool>& connected) {
  json nodes = json::array();
  for (std::size_t i = 0; i < fleet.size(); ++i) {
    const ServerModel& server = fleet.server(i);
    nodes.push_back({{"name", server.name},
                     {"connected", i < connected.size() && connected[i]},
                     {"cpu_cores", server.cores},
                     {"memory_total_bytes", server.memory_bytes},
                     {"background_cores", fleet.background_cores(i)},
                     {"latency_ms", fleet.latency_ms(i, now)},
                     {"pods", fleet.pods_on(i)},
                     {"power_w", fleet.power_w(i)},
                     {"power_state", ServerSwitch::name_of(fleet.power_switch(i).state())},
                     {"shutdowns", fleet.power_switch(i).shutdowns()},
                     {"boots", fleet.power_switch(i).boots()},
                     {"energy_j", fleet.energy_j(i, now)},
                     {"pod_s", fleet.pod_s(i)},
                     {"waited_pod_s", fleet.waited_pod_s(i)},
                     {"watts", server.watts}});
  }
  return json{{"epoch", std::to_string(epoch)}, {"nodes", nodes}}.dump();
}

std::string status_json(const SwarmStatus& status, const AckDelays& delays) {
  return json{
      {"nodes", status.nodes},           {"welcomed", status.welcomed},         {"pods", status.pods},
      {"samples", status.samples},       {"records_waiting", status.waiting},   {"records_dropped", status.dropped},
      {"reconnects", status.reconnects}, {"oldest_waiting_s", status.oldest_s}, {"acked", delays.records},
      {"ack_p50_s", delays.p50_s},       {"ack_p99_s", delays.p99_s},           {"ack_max_s", delays.max_s},
      {"problem", status.problem}}
      .dump();
}

http::Response answer_error(const Error& error) {
  int status = 503;
  if (error.code == Errc::malformed || error.code == Errc::out_of_range) status = 400;
  if (error.code == Errc::not_found) status = 404;
  if (error.code == Errc::conflict) status = 409;
  if (error.code == Errc::exhausted) status = 429;
  return {status, "application/json", json{{"error", error.message()}}.dump()};
}

http::Response answer_power(Fleet& fleet, std::string_view body, MonoTime now) {
  const json object = json::read(body, {.text_bytes = 1 << 20, .built_bytes = 16 << 20});
  if (!object.is_object()) return answer_error({Errc::malformed, "request", "is not a JSON object", ""});
  const auto node = fleet.index_of(text_of(object, "node"));
  if (!node) return answer_error({Errc::not_found, "node", "is not a simulated node", "GET /nodes lists them"});
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
    return answer_error({Errc::malformed, "request", "is not one of probe, sleep, wake, observe", ""});
  }
  return {200, "application/json", answer.dump() + "\n"};
}

}  // namespace wattle::sim::live
