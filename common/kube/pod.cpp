#include "common/kube/pod.hpp"

#include <algorithm>
#include <array>

#include "common/kube/json.hpp"
#include "common/kube/node_terms.hpp"
#include "common/kube/timestamp.hpp"
#include "common/parse.hpp"

namespace wattle::kube {
namespace {

using json = SortedJson;

constexpr std::size_t kMaxAppBytes = 512;  // the wire format allows 4096 per text
constexpr std::size_t kMaxLabelsBytes = 4096;
constexpr std::size_t kMaxShownBytes = 64;  // for a value shown in a problem
constexpr std::size_t kMaxIdsBytes = 4096;
constexpr std::size_t kIdDigits = 12;
constexpr double kMaxQuantity = 1e18;  // an exabyte; larger pods fit nowhere anyway, and sums stay finite

void problem(Pod& pod, const std::string& what) { pod.problems.push_back(what); }

double quantity_of(const json& resources, const char* resource, const std::string& where, Pod& pod) {
  const json& value = member(resources, resource);
  if (value.is_null()) return 0;
  std::optional<double> amount;
  if (value.is_string()) amount = parse::quantity(value.string());
  if (value.is_number() && value.get<double>() >= 0) amount = value.get<double>();
  if (amount) return std::min(*amount, kMaxQuantity);
  problem(pod, where + "." + resource + ": " + shortened(value.dump(), kMaxShownBytes) +
                   " is not a quantity; counted as 0 (for example 250m or 64Mi)");
  return 0;
}

struct Request {
  double cpu_cores = 0;
  double memory_bytes = 0;
};

Request resources_of(const json& resources, const std::string& path, Pod& pod) {
  return {quantity_of(resources, "cpu", path, pod), quantity_of(resources, "memory", path, pod)};
}

Request most_of(const Request& a, const Request& b) {
  return {std::max(a.cpu_cores, b.cpu_cores), std::max(a.memory_bytes, b.memory_bytes)};
}

// Requested, allocated and actual resources differ while requests change; a scheduler counts the largest that can be.
Request request_of(const json& container, const json& statuses, const std::string& where, Pod& pod) {
  const Request asked =
      resources_of(member(member(container, "resources"), "requests"), where + ".resources.requests", pod);
  if (!statuses.is_array()) return asked;
  for (const json& status : statuses) {
    const json& allocated = member(status, "allocatedResources");
    const json& actual = member(member(status, "resources"), "requests");
    if ((allocated.is_null() && actual.is_null()) || text_of(status, "name") != text_of(container, "name")) continue;
    const Request has =
        most_of(resources_of(allocated, where + " allocated", pod), resources_of(actual, where + " has", pod));
    return pod.resize == PodResize::infeasible ? has : most_of(asked, has);
  }
  return asked;
}

// Counts as kube-scheduler does: the sum of all containers, or the largest need of an init step, whichever is larger.
// Init containers that keep running (restartPolicy Always) count in both.
Request pod_request(const json& spec, const json& status, Pod& pod) {
  Request running, sidecars, starting;
  std::size_t index = 0;
  for (const json& container : member(spec, "containers")) {
    const Request one = request_of(container, member(status, "containerStatuses"),
                                   "spec.containers[" + std::to_string(index++) + "]", pod);
    running.cpu_cores += one.cpu_cores;
    running.memory_bytes += one.memory_bytes;
  }
  index = 0;
  for (const json& container : member(spec, "initContainers")) {
    const Request one = request_of(container, member(status, "initContainerStatuses"),
                                   "spec.initContainers[" + std::to_string(index++) + "]", pod);
    starting.cpu_cores = std::max(starting.cpu_cores, sidecars.cpu_cores + one.cpu_cores);
    starting.memory_bytes = std::max(starting.memory_bytes, sidecars.memory_bytes + one.memory_bytes);
    if (text_of(container, "restartPolicy") != "Always") continue;
    sidecars.cpu_cores += one.cpu_cores;
    sidecars.memory_bytes += one.memory_bytes;
  }
  Request total{std::max(running.cpu_cores + sidecars.cpu_cores, starting.cpu_cores),
                std::max(running.memory_bytes + sidecars.memory_bytes, starting.memory_bytes)};
  const json& whole = member(member(spec, "resources"), "requests");
  if (!member(whole, "cpu").is_null()) total.cpu_cores = quantity_of(whole, "cpu", "spec.resources.requests", pod);
  if (!member(whole, "memory").is_null())
    total.memory_bytes = quantity_of(whole, "memory", "spec.resources.requests", pod);
  const json& overhead = member(spec, "overhead");
  total.cpu_cores += quantity_of(overhead, "cpu", "spec.overhead", pod);
  total.memory_bytes += quantity_of(overhead, "memory", "spec.overhead", pod);
  return total;
}

// Reads a latency in ms from the annotation `name`, or from `older`, its name in the earlier system.
std::optional<double> latency_ms(const json& annotations, const char* name, const char* older, Pod& pod) {
  for (const char* key : {name, older}) {
    const json& value = member(annotations, key);
    if (value.is_null()) continue;
    std::optional<double> number;
    if (value.is_string()) number = parse::real(parse::trim(value.string()));
    if (number && *number > 0) return number;
    const std::string shown = shortened(value.is_string() ? value.get<std::string>() : value.dump(), kMaxShownBytes);
    problem(pod, std::string(key) + ": '" + shown + "' is not a positive number of milliseconds; ignored");
    return std::nullopt;
  }
  return std::nullopt;
}

void read_latency(const json& annotations, Pod& pod) {
  pod.latency_soft_ms = latency_ms(annotations, "wattle.dev/latency-soft-ms", "latencySoftConstraint", pod);
  pod.latency_hard_ms = latency_ms(annotations, "wattle.dev/latency-hard-ms", "latencyHardConstraint", pod);
  pod.latency_target = shortened(text_of(annotations, "wattle.dev/latency-target"), kMaxNameBytes);
  if (pod.latency_soft_ms && pod.latency_hard_ms && *pod.latency_soft_ms > *pod.latency_hard_ms) {
    problem(pod, "wattle.dev/latency-soft-ms is more than wattle.dev/latency-hard-ms; both ignored");
    pod.latency_soft_ms.reset();
    pod.latency_hard_ms.reset();
  }
}

bool read_shrink(const json& annotations, Pod& pod) {
  constexpr const char* kKey = "wattle.dev/shrink";
  const json& value = member(annotations, kKey);
  if (value.is_null() || value == "allowed") return !value.is_null();
  problem(pod, std::string(kKey) + ": '" +
                   shortened(value.is_string() ? value.get<std::string>() : value.dump(), kMaxShownBytes) +
                   "' is not 'allowed', the only valid value; ignored");
  return false;
}

PodProvision read_provision(const json& annotations, Pod& pod) {
  constexpr const char* kKey = "wattle.dev/provision";
  const json& value = member(annotations, kKey);
  if (value.is_null()) return PodProvision::unsaid;
  for (const PodProvision level :
       {PodProvision::off, PodProvision::suggest, PodProvision::limits, PodProvision::requests, PodProvision::protect})
    if (value == to_string(level)) return level;
  problem(pod, std::string(kKey) + ": '" +
                   shortened(value.is_string() ? value.get<std::string>() : value.dump(), kMaxShownBytes) +
                   "' is not off, suggest, limits, requests or protect; treated as off");
  return PodProvision::off;
}

std::string container_names(const json& spec) {
  std::string names;
  for (const json& container : member(spec, "containers"))
    if (const std::string name = text_of(container, "name"); !name.empty()) names += (names.empty() ? "" : ",") + name;
  return shortened(names, kMaxAppBytes);
}

// First digits of "containerd://<64 digits>"; empty if the text has another form.
std::string short_id(const json& state) {
  const std::string id = text_of(state, "containerID");
  const std::size_t scheme = id.find("://");
  if (scheme == std::string::npos || id.size() < scheme + 3 + kIdDigits) return "";
  const std::string digits = id.substr(scheme + 3, kIdDigits);
  return digits.find_first_not_of("0123456789abcdef") == std::string::npos ? digits : "";
}

// Lists containers that ended before those that run.
std::string container_ids_of(const json& status) {
  std::string ids;
  for (const char* kind : {"initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"})
    for (const json& container : member(status, kind)) {
      const std::string name = text_of(container, "name");
      if (name.empty() || name.find_first_of(",=/") != std::string::npos) continue;
      const json& last = member(member(container, "lastState"), "terminated");
      const json& state = member(member(container, "state"), "terminated");
      for (const std::string& id : {short_id(last), short_id(state), short_id(container)})
        if (!id.empty()) ids = merge_container_ids(ids, id + "=" + shortened(name, kMaxShownBytes));
    }
  return ids;
}

// Owner that manages the pod: the one marked as controller, otherwise the first.
const json& owner_of(const json& metadata) {
  static const json kNone;
  const json& owners = member(metadata, "ownerReferences");
  if (!owners.is_array() || owners.empty()) return kNone;
  for (const json& owner : owners)
    if (member(owner, "controller") == true) return owner;
  return owners.front();
}

PodFailure failure_of_end(const json& terminated) {
  const std::string reason = text_of(terminated, "reason");
  if (reason == "OOMKilled") return PodFailure::oom_kill;
  const json& status = member(terminated, "exitCode");
  if (!status.is_number_integer() || status == 0) return PodFailure::none;
  return reason == "StartError" || reason == "ContainerCannotRun" ? PodFailure::failed_start : PodFailure::crash;
}

PodFailure failure_of_wait(const json& waiting) {
  const std::string reason = text_of(waiting, "reason");
  if (reason.empty() || reason == "ContainerCreating" || reason == "PodInitializing") return PodFailure::none;
  return reason == "CrashLoopBackOff" ? PodFailure::crash : PodFailure::failed_start;
}

// If `asked_to_end`, a container that ends now did not crash; one that ended before and was restarted did.
PodFailure failure_of_containers(const json& statuses, bool asked_to_end) {
  PodFailure worst = PodFailure::none;
  for (const json& container : statuses) {
    const json& state = member(container, "state");
    PodFailure ended = failure_of_end(member(state, "terminated"));
    if (asked_to_end && ended != PodFailure::oom_kill) ended = PodFailure::none;
    worst = std::max({worst, ended, failure_of_end(member(member(container, "lastState"), "terminated")),
                      failure_of_wait(member(state, "waiting"))});
  }
  return worst;
}

const json& condition_of(const json& status, const char* type) {
  static const json kNone;
  for (const json& condition : member(status, "conditions"))
    if (text_of(condition, "type") == type) return condition;
  return kNone;
}

void read_resize(const json& status, Pod& pod) {
  const json& pending = condition_of(status, "PodResizePending");
  const json& under_way = condition_of(status, "PodResizeInProgress");
  const bool waits = text_of(pending, "status") == "True";
  if (!waits && text_of(under_way, "status") != "True") return;
  const json& reported = waits ? pending : under_way;
  pod.resize_message = shortened(text_of(reported, "message"), kMaxNameBytes);
  if (waits)
    pod.resize = text_of(reported, "reason") == "Infeasible" ? PodResize::infeasible : PodResize::deferred;
  else
    pod.resize = text_of(reported, "reason") == "Error" ? PodResize::failing : PodResize::in_progress;
}

bool set_by_us(const json& metadata) {
  for (const json& manager : member(metadata, "managedFields"))
    if (text_of(manager, "manager") == kRequestsManager) return true;
  return false;
}

PodFailure failure_of(const json& status, bool leaving) {
  const std::string phase = text_of(status, "phase"), reason = text_of(status, "reason");
  if (reason == "Evicted" || text_of(condition_of(status, "DisruptionTarget"), "status") == "True")
    return PodFailure::evicted;
  // The owner's deadline has passed, or the pod is nearly complete and its sidecars are being stopped.
  const bool asked_to_end = leaving || reason == "DeadlineExceeded" || phase == "Succeeded";
  const json& containers = member(status, "containerStatuses");
  const PodFailure worst =
      std::max(failure_of_containers(containers, asked_to_end),
               failure_of_containers(member(status, "initContainerStatuses"), asked_to_end || phase == "Running"));
  if (phase != "Failed" || asked_to_end || worst != PodFailure::none) return worst;
  return containers.empty() ? PodFailure::failed_start : PodFailure::crash;
}

std::string app_of(const json& owner, const json& spec) {
  std::string app;
  if (owner.is_object()) app = text_of(owner, "kind") + "/" + text_of(owner, "name");
  std::string images;
  for (const json& container : member(spec, "containers")) {
    const std::string image = text_of(container, "image");
    if (!image.empty()) images += (images.empty() ? "" : ",") + image;
  }
  if (!images.empty()) app += (app.empty() ? "" : " ") + images;
  return shortened(app, kMaxAppBytes);
}

// Skips labels that an API server would reject, because they would read as two.
std::string labels_of(const json& metadata) {
  const json& labels = member(metadata, "labels");
  std::string text;
  if (!labels.is_object()) return text;
  for (const auto& [key, value] : labels.items()) {
    if (!value.is_string() || key.find_first_of(",=") != std::string::npos) continue;
    const auto& said = value.string();
    if (said.find(',') != std::string::npos || text.size() + key.size() + said.size() + 2 > kMaxLabelsBytes) continue;
    text.append(text.empty() ? "" : ",").append(key).append("=").append(said);
  }
  return text;
}

// A Deployment names its ReplicaSet after itself and the hash of the pod template, which the pods have as a label.
std::string owner_name(const json& metadata, const json& owner) {
  if (!owner.is_object()) return "Pod/" + text_of(metadata, "name");
  const std::string kind = text_of(owner, "kind"), name = text_of(owner, "name");
  const std::string hash = "-" + text_of(member(metadata, "labels"), "pod-template-hash");
  if (kind == "ReplicaSet" && hash.size() > 1 && name.size() > hash.size() && name.ends_with(hash))
    return "Deployment/" + name.substr(0, name.size() - hash.size());
  return kind + "/" + name;
}

}  // namespace

std::string_view container_name(std::string_view container_ids, std::string_view id) {
  while (!container_ids.empty()) {
    const std::string_view one = container_ids.substr(0, container_ids.find(','));
    container_ids.remove_prefix(std::min(container_ids.size(), one.size() + 1));
    if (one.size() > id.size() && one.starts_with(id) && one[id.size()] == '=') return one.substr(id.size() + 1);
  }
  return {};
}

std::string merge_container_ids(std::string_view earlier, std::string_view later) {
  if (later.empty()) return std::string(earlier);
  std::string all;
  while (!earlier.empty()) {
    const std::string_view one = earlier.substr(0, earlier.find(','));
    earlier.remove_prefix(std::min(earlier.size(), one.size() + 1));
    if (container_name(later, one.substr(0, one.find('='))).empty()) all.append(one).append(",");
  }
  all += later;
  while (all.size() > kMaxIdsBytes && all.find(',') != std::string::npos) all.erase(0, all.find(',') + 1);
  return shortened(all, kMaxIdsBytes);
}

std::string_view to_string(PodFailure failure) {
  constexpr std::string_view kNames[] = {"", "failed_start", "crash", "oom_kill", "evicted"};
  return kNames[static_cast<std::size_t>(failure)];
}

std::string_view to_string(PodProvision level) {
  constexpr std::array<std::string_view, 6> kNames{"", "off", "suggest", "limits", "requests", "protect"};
  return kNames[static_cast<std::size_t>(level)];
}

std::string_view to_string(PodResize resize) {
  constexpr std::string_view kNames[] = {"", "in_progress", "failing", "deferred", "infeasible"};
  return kNames[static_cast<std::size_t>(resize)];
}

Pod read_pod(const json& object) {
  Pod pod;
  const json& metadata = member(object, "metadata");
  const json& annotations = member(metadata, "annotations");
  const json& spec = member(object, "spec");
  const json& owner = owner_of(metadata);
  pod.uid = shortened(text_of(metadata, "uid"), kMaxNameBytes);
  pod.mirror = read_mirror_claim(object);
  pod.name = shortened(text_of(metadata, "name"), kMaxNameBytes);
  pod.pod_namespace = shortened(text_of(metadata, "namespace"), kMaxNameBytes);
  pod.node_name = shortened(text_of(spec, "nodeName"), kMaxNameBytes);
  pod.scheduler = shortened(text_of(spec, "schedulerName"), kMaxNameBytes);
  pod.node_terms = read_node_terms(spec);
  pod.app = app_of(owner, spec);
  if (owner.is_object())
    pod.replica_of =
        shortened(pod.pod_namespace + "/" + text_of(owner, "kind") + "/" + text_of(owner, "name"), kMaxAppBytes);
  pod.owner = shortened(owner_name(metadata, owner), kMaxNameBytes);
  pod.labels = labels_of(metadata);
  const json& status = member(object, "status");
  pod.started_s = parse_time_s(text_of(status, "startTime"));
  read_resize(status, pod);
  pod.requests_set = set_by_us(metadata);
  const Request request = pod_request(spec, status, pod);
  pod.cpu_request_cores = request.cpu_cores;
  pod.memory_request_bytes = request.memory_bytes;
  pod.daemonset = text_of(owner, "kind") == "DaemonSet" || is_controlled_by_its_node(object);
  const std::string phase = text_of(status, "phase");
  pod.ended = phase == "Succeeded" || phase == "Failed";
  if (pod.node_name.empty()) pod.nominated_node = shortened(text_of(status, "nominatedNodeName"), kMaxNameBytes);
  pod.leaving = !member(metadata, "deletionTimestamp").is_null();
  const json& disrupted = condition_of(status, "DisruptionTarget");
  pod.evicted =
      pod.leaving && text_of(disrupted, "status") == "True" && text_of(disrupted, "reason") == "EvictionByEvictionAPI";
  const json& scheduled = condition_of(status, "PodScheduled");
  pod.unschedulable = pod.node_name.empty() && !pod.leaving && text_of(scheduled, "status") == "False" &&
                      text_of(scheduled, "reason") == "Unschedulable";
  if (!pod.daemonset && !pod.ended) pod.hold = read_pod_hold(object);
  pod.failure = failure_of(status, pod.leaving);
  read_latency(annotations, pod);
  pod.shrink_allowed = read_shrink(annotations, pod);
  pod.provision = read_provision(annotations, pod);
  pod.containers = container_names(spec);
  pod.container_ids = container_ids_of(status);
  pod.qos = shortened(text_of(status, "qosClass"), kMaxShownBytes);
  return pod;
}

}  // namespace wattle::kube
