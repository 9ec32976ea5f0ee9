#include "controller/power/evictions.hpp"

#include "common/http/target.hpp"
#include "common/json/value.hpp"
#include "controller/power/api_errors.hpp"

namespace wattle::controller::power {
namespace {

using json = SortedJson;
using placement::sleep::Move;

constexpr JsonLimits kReplyLimits{1 << 20, 16 << 20};
constexpr const char* kRight = "create pods/eviction";

// Message of the budget that refuses the eviction; empty: another cause, such as a limit on requests.
std::string budget_text(const std::string& body) {
  const json status = json::read(body, kReplyLimits);
  const json& causes = status["details"]["causes"];
  if (!causes.is_array()) return {};
  for (const json& cause : causes)
    if (cause["reason"] == "DisruptionBudget")
      return cause["message"].is_string() ? cause["message"].string() : "a PodDisruptionBudget";
  return {};
}

std::string uid_of(const std::string& body) {
  const json pod = json::read(body, {8 << 20, 128 << 20});
  const json& uid = pod["metadata"]["uid"];
  return uid.is_string() ? uid.string() : std::string();
}

}  // namespace

Result<PodName> parse_pod_name(const Move& pod) {
  const auto slash = pod.name.find('/');
  if (slash == 0 || slash == std::string::npos || slash + 1 == pod.name.size())
    return fail(Errc::malformed, "pod \"" + pod.name + "\"", "is not named as \"namespace/name\"");
  return PodName{pod.name.substr(0, slash), pod.name.substr(slash + 1)};
}

std::string eviction_body(const Move& pod, const PodName& name) {
  json body = {{"apiVersion", "policy/v1"}, {"kind", "Eviction"}};
  body["metadata"]["name"] = name.name;
  body["metadata"]["namespace"] = name.name_space;
  body["metadata"]["annotations"]["wattle.dev/target"] = pod.target;
  body["deleteOptions"]["preconditions"]["uid"] = pod.pod;
  return body.dump();
}

Result<EvictionReply> parse_eviction_reply(const Move& pod, const kube::Reply& reply) {
  const std::string subject = "pod " + pod.name;
  switch (reply.status) {
    case 200:
    case 201:
    case 202:
      return EvictionReply{Evicted::accepted, {}};
    case 404:
      return EvictionReply{Evicted::gone, {}};
    case 429:
      if (std::string text = budget_text(reply.body); !text.empty())
        return EvictionReply{Evicted::refused, std::move(text)};
      break;
    case 500:
      if (const std::string message = message_of(reply);
          message.find("more than one PodDisruptionBudget") != std::string::npos)
        return fail(Errc::unsupported, subject, "several PodDisruptionBudgets select it: " + message,
                    "let only one select it");
      break;
    default:
      break;
  }
  return api_error(subject, reply, kRight);
}

Result<EvictionReply> evict_pod(kube::HttpApi& api, const Move& pod) {
  WATTLE_TRY(const PodName name, parse_pod_name(pod));
  if (pod.pod.empty()) return fail(Errc::malformed, "pod " + pod.name, "has no UID");
  const std::string path =
      "/api/v1/namespaces/" + http::percent_encode(name.name_space) + "/pods/" + http::percent_encode(name.name);
  WATTLE_TRY(const kube::Reply reply, api.post(path + "/eviction", eviction_body(pod, name)));
  if (reply.status == 409) {
    WATTLE_TRY(const kube::Reply present, api.get(path));
    if (present.status == 404 || (present.status == 200 && uid_of(present.body) != pod.pod))
      return EvictionReply{Evicted::gone, {}};
  }
  return parse_eviction_reply(pod, reply);
}

}  // namespace wattle::controller::power
