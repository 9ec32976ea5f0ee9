#include "controller/power/node_events.hpp"

#include <array>
#include <cstdio>
#include <utility>

#include "common/http/target.hpp"
#include "controller/power/api_errors.hpp"
#include "controller/power/rfc3339.hpp"

namespace wattle::controller::power {
namespace {

using json = SortedJson;

// Limits of the API server's validation.
constexpr std::size_t kMostNoteBytes = 1024, kMostReasonBytes = 128, kMostNameBytes = 200;

json about(const char* kind, const std::string& name, const std::string& uid) {
  json out = json::object();
  out["apiVersion"] = "v1";
  out["kind"] = kind;
  out["name"] = name;
  out["uid"] = uid;
  return out;
}

}  // namespace

NodeEvents::NodeEvents(kube::HttpApi& api, std::string instance, const Clock& clock)
    : api_(api),
      instance_(instance.empty() ? "wattle-controller" : instance.substr(0, kMostReasonBytes)),
      clock_(clock) {}

Status NodeEvents::on_node(const std::string& node, const NodeEvent& event) {
  const std::string text = event.reason + "\n" + event.message;
  if (const auto last = last_.find(node); last != last_.end() && last->second == text) return {};
  json body = json::object();
  body["regarding"] = about("Node", node, node);  // kubectl finds Events about a node by this UID, as kubelets write it
  body["reason"] = event.reason.substr(0, kMostReasonBytes);
  body["action"] = "Sleep";
  body["note"] = event.message.substr(0, kMostNoteBytes);
  body["type"] = event.warning ? "Warning" : "Normal";
  WATTLE_CHECK(write(std::move(body), "default", node));
  last_[node] = text;
  return {};
}

Status NodeEvents::on_eviction(const placement::sleep::Move& pod, const PodName& name) {
  json body = json::object();
  body["regarding"] = about("Pod", name.name, pod.pod);
  body["regarding"]["namespace"] = name.name_space;
  body["reason"] = "EvictedByWattle";
  body["action"] = "Evict";
  body["note"] = "evicted to empty its node; its replacement is expected on " + pod.target;
  body["type"] = "Normal";
  return write(std::move(body), name.name_space, name.name);
}

Status NodeEvents::write(json event, const std::string& name_space, const std::string& name) {
  const WallTime now = clock_.wall();
  std::array<char, 32> suffix{};
  std::snprintf(suffix.data(), suffix.size(), ".%llx", static_cast<unsigned long long>(to_ns(now)));
  event["apiVersion"] = "events.k8s.io/v1";
  event["kind"] = "Event";
  event["metadata"]["name"] = name.substr(0, kMostNameBytes) + suffix.data();
  event["metadata"]["namespace"] = name_space;
  event["eventTime"] = rfc3339_text(now);
  event["reportingController"] = "wattle.dev/controller";
  event["reportingInstance"] = instance_;
  WATTLE_TRY(
      const kube::Reply reply,
      api_.post("/apis/events.k8s.io/v1/namespaces/" + http::percent_encode(name_space) + "/events", event.dump()));
  // 409: an earlier attempt was written, and its answer lost.
  if (reply.status == 200 || reply.status == 201 || reply.status == 409) return {};
  return api_error("Event about " + name, reply, "create events");
}

}  // namespace wattle::controller::power
