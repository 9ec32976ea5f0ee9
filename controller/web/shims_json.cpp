#include "controller/web/shims_json.hpp"

#include <utility>

#include "controller/decisions/decider.hpp"
#include "controller/rollout/rollout_manager.hpp"
#include "controller/trainer/serving_model.hpp"

namespace wattle::controller {

using json = SortedJson;

namespace {

// Minimum number of pods for a meaningful share.
constexpr std::uint64_t kMinPods = 10;
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
                              names(shims) + ", bound in the last 15 minutes, were placed without a request";
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
            "check in the shim's log that it runs and that controller.ask is this controller's endpoint"};
  if (connected == 0)
    return {"lost", "no shim is connected, so kube-scheduler requests no placements",
            "install a shim if Wattle is to advise a kube-scheduler"};
  if (asked == 0 && wrong_paths > 0)
    return {"failed", "kube-scheduler requests unknown paths from a shim",
            "compare urlPrefix and verbs with k8s/default-scheduler/scheduler.yaml; the shim's log lists the paths"};
  if (none_asked && recent.pods >= kMinPods)
    return {"failed", of_pods,
            "check that this kube-scheduler has the extender with the shim's address; kube-scheduler never calls it "
            "for pods "
            "with a single feasible node"};
  const std::string fine = std::to_string(connected) + " connected" + (recent.pods > 0 ? "; " + of_pods : "");
  if (!gone.empty()) return {"lost", fine + "; " + gone + " is silent", "check its log, unless it was replaced"};
  if (recent.pods >= kMinPods &&
      static_cast<double>(recent.unasked) >= kManyUnasked_ratio * static_cast<double>(recent.pods))
    return {"lost", fine,
            "check that every kube-scheduler has the extender; it is not called for pods with a single feasible node"};
  return {"ok", fine, ""};
}

json asks_json(const Shims& shims, bool bindings_known, MonoTime now) {
  const Bindings recent = shims.recent();
  return {{"last_ask_age_ms", age_ms(shims.last_ask(), now)},
          {"schedulers", shims.schedulers()},
          {"pods_bound", bindings_known ? json(recent.pods) : json(nullptr)},
          {"pods_unasked", bindings_known ? json(recent.unasked) : json(nullptr)}};
}

json shims_json(const Shims& shims, MonoTime now) {
  json list = json::array();
  for (const auto& [key, shim] : shims.all())
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

json withheld_json(const Parts& from) {
  json list = json::array();
  const auto add = [&](const char* what, std::string why) {
    list.push_back({{"what", what}, {"why", std::move(why)}});
  };
  const Decider& decider = from.decider;
  if (!acts(decider.arm().arm))
    add("scores",
        "all answers are 0: " + (decider.spec().mode.mode == Mode::canary ? "control block of the canary"
                                                                          : "mode " + decider.spec().mode.text()));
  if (decider.engine().gated()) add("network", decider.engine().gated_why());
  if (decider.engine().policy().learns && from.networks.get() == nullptr)
    add("network", from.mode_reason.empty() ? "no network is in use yet" : from.mode_reason);
  const json promotion = from.rollout.document().at("promotion");
  if (promotion.at("to").is_string() && promotion.at("closed_by").is_string())
    add("promotion",
        "to " + promotion.at("to").get<std::string>() + ": " + promotion.at("closed_by").get<std::string>());
  return list;
}

}  // namespace wattle::controller
