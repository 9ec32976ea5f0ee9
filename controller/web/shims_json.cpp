#include "controller/web/shims_json.hpp"

#include <cstdio>
#include <utility>

#include "common/json/value.hpp"

namespace wattle::controller {

using json = SortedJson;

namespace {

// Minimum number of pods for a meaningful share.
constexpr std::uint64_t kPodsThatTell = 10;
constexpr double kManyUnasked_ratio = 0.5;

json age_ms(const std::optional<MonoTime>& at, MonoTime now) {
  return at ? json(seconds(now - *at) * 1e3) : json(nullptr);
}

std::string names(const Shims& shims) {
  std::string out;
  for (const std::string& name : shims.schedulers()) out += (out.empty() ? "" : ", ") + name;
  return out;
}

std::string silent(const Shims& shims, MonoTime now) {
  std::string out;
  for (const auto& [key, shim] : shims.all())
    if (!Shims::connected(shim, now)) out += (out.empty() ? "" : ", ") + shim.host;
  return out;
}

}  // namespace

ShimsJudged judge_shims(const Shims& shims, MonoTime now) {
  const Bindings recent = shims.recent();
  const std::size_t connected = shims.connected(now);
  const std::string of_pods = std::to_string(recent.unasked) + " of " + std::to_string(recent.pods) + " pods of " +
                              names(shims) + ", bound within 15 minutes, were asked for by nobody";
  const std::string gone = silent(shims, now);
  std::uint64_t asked = 0, wrong_paths = 0;
  for (const auto& [key, shim] : shims.all()) {
    asked += shim.asked;
    wrong_paths += shim.wrong_paths;
  }
  const bool none_asked = recent.pods > 0 && recent.unasked == recent.pods;
  if (connected == 0 && (recent.unasked > 0 || !gone.empty()))
    return {"failed",
            "no shim is connected" + (gone.empty() ? "" : ", " + gone + " is silent") +
                (recent.unasked > 0 ? "; " + of_pods : ""),
            "see the shim's log: is it running, and is controller.ask our endpoint?"};
  if (connected == 0)
    return {"lost", "no shim is connected: nobody asks for placements",
            "install one, if Wattle is to advise a kube-scheduler"};
  if (asked == 0 && wrong_paths > 0)
    return {"failed", "kube-scheduler asks a shim for paths that it does not have",
            "compare urlPrefix and verbs with k8s/default-scheduler/scheduler.yaml; the shim's log names the paths"};
  if (none_asked && recent.pods >= kPodsThatTell)
    return {"failed", of_pods,
            "has this kube-scheduler the extender, with the shim's address? Pods for which one node alone is left are "
            "never asked for"};
  const std::string fine = std::to_string(connected) + " connected" + (recent.pods > 0 ? "; " + of_pods : "");
  if (!gone.empty()) return {"lost", fine + "; " + gone + " is silent", "see its log, if it has not been replaced"};
  if (recent.pods >= kPodsThatTell &&
      static_cast<double>(recent.unasked) >= kManyUnasked_ratio * static_cast<double>(recent.pods))
    return {"lost", fine,
            "does every kube-scheduler have the extender? Pods for which one node alone is left are never asked for"};
  return {"ok", fine, ""};
}

json asks_json(const Sources& from) {
  if (from.shims == nullptr) return nullptr;
  const MonoTime now = from.clock.mono();
  const Bindings recent = from.shims->recent();
  const bool known = from.watch != nullptr;
  return {{"last_ask_age_ms", age_ms(from.shims->last_ask(), now)},
          {"schedulers", from.shims->schedulers()},
          {"pods_bound", known ? json(recent.pods) : json(nullptr)},
          {"pods_unasked", known ? json(recent.unasked) : json(nullptr)}};
}

json shims_json(const Sources& from) {
  json list = json::array();
  if (from.shims == nullptr) return list;
  const MonoTime now = from.clock.mono();
  for (const auto& [key, shim] : from.shims->all())
    list.push_back({{"peer", shim.peer},
                    {"host", shim.host},
                    {"version", shim.version},
                    {"connected", Shims::connected(shim, now)},
                    {"age_ms", age_ms(shim.beat_at, now)},
                    {"asked", shim.asked},
                    {"asked_age_ms", age_ms(shim.asked_at, now)},
                    {"without_controller", shim.without_controller},
                    {"breaker_opened", shim.breaker_opened},
                    {"wrong_paths", shim.wrong_paths}});
  return list;
}

json withheld_json(const Sources& from) {
  json list = json::array();
  const auto add = [&](const char* what, std::string why) {
    list.push_back({{"what", what}, {"why", std::move(why)}});
  };
  const Decider& decider = from.decider;
  if (!acts(decider.arm().arm))
    add("scores",
        "all answers are 0: " + (decider.spec().mode.mode == Mode::canary ? "a control block of the canary"
                                                                          : "mode " + decider.spec().mode.text()));
  if (decider.network_gated()) add("network", decider.network_gated_why());
  if (decider.policy_info().learns && from.networks.get() == nullptr)
    add("network", from.mode_reason.empty() ? "none serves yet" : from.mode_reason);
  if (from.rollout != nullptr) {
    const json promotion = from.rollout->document().at("promotion");
    if (promotion.at("to").is_string() && promotion.at("closed_by").is_string())
      add("promotion",
          "to " + promotion.at("to").get<std::string>() + ": " + promotion.at("closed_by").get<std::string>());
  }
  return list;
}

}  // namespace wattle::controller
