// evictions: evicts one pod through the Eviction API, so that PodDisruptionBudgets hold.
// Source   POST /api/v1/namespaces/NAMESPACE/pods/NAME/eviction (policy/v1), with the pod's UID as precondition: a
//          successor of the same name is never evicted in its place. After a conflict the pod is read, to see
//          whether it is still the same one
// Marks    the Eviction has the annotation wattle.dev/target, for admission webhooks and the audit log. Wattle has no
//          right to change pods, and writes an Event about the pod instead (node_events.hpp)
// Errors   denied (RBAC, or a webhook), malformed (no "namespace/name"), conflict, unsupported (several budgets select
//          the pod), unavailable (no answer, or the server limits requests)
// Threads  pure, except evict(), which blocks
#pragma once

#include <string>

#include "common/kube/http_api.hpp"
#include "controller/power/node_marks.hpp"

namespace wattle::controller::power {

struct PodName {
  std::string name_space, name;
};
// Splits "namespace/name".
Result<PodName> parse_pod_name(const placement::sleep::Move& pod);

struct EvictionReply {
  Evicted evicted{};
  std::string text;  // of refused: the budget's message
};

std::string eviction_body(const placement::sleep::Move& pod, const PodName& name);
Result<EvictionReply> parse_eviction_reply(const placement::sleep::Move& pod, const kube::Reply& reply);

Result<EvictionReply> evict_pod(kube::HttpApi& api, const placement::sleep::Move& pod);

}  // namespace wattle::controller::power
