#include "controller/enrol/token_review.hpp"

#include <algorithm>
#include <utility>

#include "common/enrol_tokens.hpp"

namespace wattle::controller {
namespace {

using json = SortedJson;
using std::chrono::milliseconds;
// An agent waits for ten seconds; the limit of our own listener is five.
constexpr milliseconds kPatience{2000};
constexpr std::string_view kAccountPrefix = "system:serviceaccount:";

tl::unexpected<EnrolRefusal> not_ours(std::string subject, std::string what, std::string fix) {
  return because(EnrolRefused::token, {Errc::denied, std::move(subject), std::move(what), std::move(fix)});
}

tl::unexpected<EnrolRefusal> unavailable(const std::string& what) {
  return because(
      EnrolRefused::unavailable,
      {Errc::unavailable, "TokenReview", what,
       "check that the API server is reachable and that the controller's role allows creating tokenreviews"});
}

std::string text(const json& value) { return value.is_string() ? value.get<std::string>() : std::string(); }

// A claim is a list with one string.
std::string claim(const json& extra, const char* name) {
  const json values = extra[name];
  return values.is_array() && values.size() == 1 ? text(values[0]) : std::string();
}

// Safe in a path: names of pods, namespaces and nodes contain only these characters.
bool plain_name(std::string_view name) {
  return !name.empty() && name.size() <= 253 &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-.") == name.npos && name.front() != '.';
}

}  // namespace

struct TokenReview::Claims {
  std::string account_namespace, account;
  std::string pod, pod_uid, node;
};

Reviewed<json> review_user(kube::HttpApi& api, std::string_view token, const std::string& fix) {
  const json request = {{"apiVersion", "authentication.k8s.io/v1"},
                        {"kind", "TokenReview"},
                        {"spec", {{"token", std::string(token)}, {"audiences", {kTokenAudience}}}}};
  const auto reply = api.post("/apis/authentication.k8s.io/v1/tokenreviews", request.dump());
  if (!reply) return unavailable(reply.error().message());
  if (reply->status != 200 && reply->status != 201)
    return unavailable("the API server returned HTTP " + std::to_string(reply->status));
  const json review = json::read(reply->body, {.text_bytes = 1 << 20, .built_bytes = 16 << 20});
  const json& status = review["status"];
  const json& audiences = status["audiences"];
  if (status["authenticated"] != true || !audiences.is_array() ||
      std::find(audiences.begin(), audiences.end(), kTokenAudience) == audiences.end())
    return not_ours("the token", "is not valid for audience " + std::string(kTokenAudience), fix);
  return status["user"];
}

TokenReview::TokenReview(kube::ApiServer server, TokenReviewOptions options)
    : options_(std::move(options)), api_(std::move(server), kPatience, kPatience) {}

Reviewed<Admission> TokenReview::review(std::string_view token, const std::string&) {
  const std::lock_guard lock(mutex_);
  const auto found = review_user(api_, token, "mount a service account token with that audience into the agent's pod");
  if (!found) return tl::unexpected<EnrolRefusal>(found.error());
  const json& user = *found;
  const std::string name = text(user["username"]);
  Claims claims;
  if (const auto colon = name.rfind(':'); name.starts_with(kAccountPrefix) && colon >= kAccountPrefix.size()) {
    claims.account_namespace = name.substr(kAccountPrefix.size(), colon - kAccountPrefix.size());
    claims.account = name.substr(colon + 1);
  }
  const std::string account = claims.account_namespace + "/" + claims.account;
  if (std::find(options_.accounts.begin(), options_.accounts.end(), account) == options_.accounts.end())
    return not_ours("account " + (claims.account.empty() ? name : account), "may not enrol",
                    "if agents use this account, add it to enrol.kubernetes.accounts");
  const json extra = user["extra"];
  claims.pod = claim(extra, "authentication.kubernetes.io/pod-name");
  claims.pod_uid = claim(extra, "authentication.kubernetes.io/pod-uid");
  claims.node = claim(extra, "authentication.kubernetes.io/node-name");
  auto node = node_of(claims);
  if (!node) return tl::unexpected<EnrolRefusal>(node.error());
  return Admission{std::move(*node), "pod " + claims.account_namespace + "/" + claims.pod, true};
}

Reviewed<std::string> TokenReview::node_of(const Claims& claims) {
  if (claims.pod.empty() || claims.pod_uid.empty())
    return not_ours("the token", "is bound to no pod",
                    "mount the token into the agent's pod: other tokens do not prove a node");
  if (plain_name(claims.node)) return claims.node;
  if (!plain_name(claims.pod) || !plain_name(claims.account_namespace))
    return not_ours("the token", "contains an invalid pod name", "");
  const auto reply = api_.get("/api/v1/namespaces/" + claims.account_namespace + "/pods/" + claims.pod);
  if (!reply) return unavailable(reply.error().message());
  if (reply->status == 404) return not_ours("pod " + claims.pod, "no longer exists", "");
  if (reply->status != 200)
    return unavailable("the API server returned HTTP " + std::to_string(reply->status) + " for the pod");
  const json pod = json::read(reply->body, {.text_bytes = 1 << 20, .built_bytes = 16 << 20});
  std::string node = text(pod["spec"]["nodeName"]);
  if (text(pod["metadata"]["uid"]) != claims.pod_uid || !plain_name(node))
    return not_ours("pod " + claims.pod, "is not the pod of the token, or is not bound to a node", "");
  return node;
}

}  // namespace wattle::controller
