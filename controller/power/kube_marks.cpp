#include "controller/power/kube_marks.hpp"

#include <utility>

#include "common/http/target.hpp"
#include "controller/power/api_errors.hpp"
#include "controller/power/evictions.hpp"
#include "controller/power/lifecycle_conditions.hpp"
#include "controller/power/mark_patch.hpp"

namespace wattle::controller::power {
namespace {

using json = SortedJson;
using placement::sleep::NodePowerRecord;

constexpr std::chrono::milliseconds kTimeout{10'000};
constexpr JsonLimits kNodeLimits{8 << 20, 128 << 20};

std::string path_of(const std::string& node) { return "/api/v1/nodes/" + http::percent_encode(node); }
std::string subject_of(const std::string& node) { return "node " + node; }

}  // namespace

KubeMarks::KubeMarks(kube::ApiServer server, std::string instance, const Clock& clock, const Log& log)
    : clock_(clock),
      log_(log),
      api_(std::move(server), kTimeout, kTimeout),
      events_(api_, std::move(instance), clock) {}

Result<json> KubeMarks::read(const std::string& node) {
  WATTLE_TRY(const kube::Reply reply, api_.get(path_of(node)));
  if (reply.status != 200) return api_error(subject_of(node), reply, "get nodes");
  return json::parse(reply.body, kNodeLimits, subject_of(node));
}

Status KubeMarks::change(const std::string& node, const Patch& patch) {
  for (int attempt = 0; attempt < kMarkAttempts; ++attempt) {
    WATTLE_TRY(const json present, read(node));
    WATTLE_TRY(const std::optional<json> wanted, patch(present));
    if (!wanted) return {};
    WATTLE_TRY(const kube::Reply reply, api_.patch(path_of(node), wanted->dump()));
    if (reply.status == 200) return {};
    if (reply.status != 409) return api_error(subject_of(node), reply, "patch nodes");
  }
  return fail(Errc::conflict, subject_of(node),
              "changed during each of " + std::to_string(kMarkAttempts) + " attempts to change its marks",
              "look for a program that changes the Node all the time");
}

Status KubeMarks::mark(const std::string& node, const NodePowerRecord& record) {
  WATTLE_CHECK(change(node, [&](const json& present) { return patch_to_mark(present, record); }));
  return report(node, record);
}

Status KubeMarks::unmark(const std::string& node, const NodePowerRecord& record) {
  WATTLE_CHECK(change(node, [](const json& present) { return patch_to_unmark(present); }));
  NodePowerRecord without = record;
  without.marked = false;
  return report(node, without);
}

Status KubeMarks::annotate(const std::string& node, const NodePowerRecord& record) {
  WATTLE_TRY(const kube::Reply reply, api_.patch(path_of(node), patch_to_annotate(record).dump()));
  if (reply.status != 200) return api_error(subject_of(node), reply, "patch nodes");
  return report(node, record);
}

Result<bool> KubeMarks::has_conditions() {
  if (has_conditions_) return *has_conditions_;
  WATTLE_TRY(const kube::Reply reply, api_.get("/version"));
  if (reply.status >= 500 || reply.status == 429) return api_error("/version", reply, "get /version");
  // A server that does not show its version is treated as an older one.
  bool known = false;
  if (reply.status == 200) {
    WATTLE_TRY(known, parse_has_conditions(reply.body));
  }
  has_conditions_ = known;
  return known;
}

Status KubeMarks::report(const std::string& node, const NodePowerRecord& record) {
  WATTLE_TRY(const bool known, has_conditions());
  if (!known) return {};
  WATTLE_TRY(const json present, read(node));
  const std::optional<json> patch = patch_conditions(present, record, clock_.wall());
  if (!patch) return {};
  WATTLE_TRY(const kube::Reply reply, api_.patch(path_of(node) + "/status", patch->dump()));
  if (reply.status != 200) return api_error(subject_of(node), reply, "patch nodes/status");
  return {};
}

Result<Evicted> KubeMarks::evict(const placement::sleep::Move& pod) {
  WATTLE_TRY(const EvictionReply reply, evict_pod(api_, pod));
  if (reply.evicted == Evicted::refused)
    log_.info("sleep.eviction_refused", "a PodDisruptionBudget allows no eviction of the pod now",
              {{"pod", pod.name}, {"reason", reply.text}});
  if (reply.evicted != Evicted::accepted) return reply.evicted;
  WATTLE_TRY(const PodName name, parse_pod_name(pod));
  if (const Status written = events_.on_eviction(pod, name); !written)
    log_.warn("sleep.event_failed", "an Event about a node or an evicted pod was not written",
              {{"pod", pod.name}, {"error", written.error()}});
  return reply.evicted;
}

Status KubeMarks::event(const std::string& node, const NodeEvent& event) {
  Status written = events_.on_node(node, event);
  if (!written)
    log_.warn("sleep.event_failed", "an Event about a node or an evicted pod was not written",
              {{"node", node}, {"error", written.error()}});
  return written;
}

}  // namespace wattle::controller::power
