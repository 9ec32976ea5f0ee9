#include "cli/requests/plan.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "cli/parts.hpp"
#include "cli/view.hpp"
#include "common/kube/timestamp.hpp"
#include "common/owner_name.hpp"
#include "common/parse.hpp"

namespace wattle::cli {
namespace {

constexpr double kSameRatio = 0.01;
constexpr double kMilli = 1000;
// tolerance: a kubelet reads CPU back from shares, which are coarser
constexpr double kReportedRatio = 0.03, kReportedCores = 0.002;
constexpr const char* kProvision = "wattle.dev/provision";
constexpr const char* kShrink = "wattle.dev/shrink";
constexpr const char* kMainContainer = "kubectl.kubernetes.io/default-container";
constexpr const char* kMirror = "kubernetes.io/config.mirror";

View named_item(const View& list, const std::string& name) {
  for (const View& item : list.items())
    if (item["name"].text() == name) return item;
  return {};
}

// Returns the container to which the pod's total applies; empty if it is undetermined.
std::string main_container(const View& pod) {
  const auto containers = pod["spec"]["containers"].items();
  if (containers.size() == 1) return containers.front()["name"].text_or("");
  const auto named = pod["metadata"]["annotations"][kMainContainer].text();
  return named && named_item(pod["spec"]["containers"], *named).present() ? *named : std::string();
}

// Sums the requests of the other containers, including sidecars.
double others_request(const View& pod, const std::string& container, const std::string& resource) {
  double sum = 0;
  const auto count = [&](const View& one) {
    sum += amount_of(Sizes::of(one["resources"]).requests, resource).value_or(0);
  };
  for (const View& one : pod["spec"]["containers"].items())
    if (one["name"].text() != container) count(one);
  for (const View& one : pod["spec"]["initContainers"].items())
    if (one["restartPolicy"].text() == "Always") count(one);
  return sum;
}

bool restarts(const View& container, const std::string& resource) {
  for (const View& policy : container["resizePolicy"].items())
    if (policy["resourceName"].text() == resource) return policy["restartPolicy"].text() == "RestartContainer";
  return false;
}

// Returns a reason not to change the pod, regardless of the advice.
std::optional<Verdict> obstacle(const View& pod, const PlanOptions& options) {
  const auto refused = [](std::string why) { return Verdict{"refused", std::move(why), {}, {}, {}, false}; };
  const View annotations = pod["metadata"]["annotations"];
  if (pod["metadata"]["deletionTimestamp"].present())
    return Verdict{"waits", "The pod is being deleted.", {}, {}, {}, false};
  if (const auto level = annotations[kProvision].text(); level && *level != "requests")
    return refused(std::string("Annotation ") + kProvision + " says " + *level +
                   (*level == "limits" ? ", but Wattle sets either limits or requests of a pod, not both." : "."));
  if (!options.autoscaler.empty())
    return refused("VerticalPodAutoscaler " + options.autoscaler +
                   " controls the pod (set its updateMode to Off or remove it).");
  if (!options.scaler.empty())
    return refused(options.scaler +
                   " scales the workload by the ratio of use to requests, so another request would change the number "
                   "of pods (use an AverageValue or another metric, or remove the autoscaler).");
  if (annotations[kMirror].present()) return refused("The pod is a static pod; a file on its node sets its requests.");
  if (pod["spec"]["resources"]["requests"].present() || pod["spec"]["resources"]["limits"].present())
    return refused("The pod has pod-level resources, which Kubernetes cannot resize yet.");
  if (pod["status"]["qosClass"].text() == "BestEffort")
    return refused(
        "The pod's QoS class is BestEffort, which cannot change while it runs (add requests to its template).");
  if (pod["status"]["phase"].text() != "Running")
    return Verdict{"waits", "The pod is not running yet.", {}, {}, {}, false};
  return std::nullopt;
}

View condition(const View& pod, const char* type) {
  for (const View& one : pod["status"]["conditions"].items())
    if (one["type"].text() == type && one["status"].text() == "True") return one;
  return {};
}

// Returns the resources that its kubelet allocated; no value if it does not report them.
std::optional<Sizes> allocated(const View& pod, const std::string& container, const Sizes& now) {
  const View status = named_item(pod["status"]["containerStatuses"], container);
  if (!status["allocatedResources"].present()) return std::nullopt;
  Sizes has = now;
  for (auto& [resource, amount] : has.requests) {
    if (!status["allocatedResources"][resource].present()) continue;
    const std::string before = amount;
    amount = status["allocatedResources"][resource].any();
    if (const auto limit = has.limits.find(resource);
        limit != has.limits.end() && limit->second == before && pod["status"]["qosClass"].text() == "Guaranteed")
      limit->second = amount;
  }
  return has;
}

bool is_reported(const std::map<std::string, std::string>& reported, const std::map<std::string, std::string>& wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const auto& one) {
    const auto has = amount_of(reported, one.first), wants = amount_of(wanted, one.first);
    const double least = one.first == "cpu" ? kReportedCores : 0;
    return !has || !wants || std::abs(*has - *wants) <= std::max(least, kReportedRatio * *wants);
  });
}

// Returns the kubelet's state of an earlier change.
std::optional<Verdict> under_way(const View& pod, const PodRecord* before, Verdict about) {
  const View pending = condition(pod, "PodResizePending"), progress = condition(pod, "PodResizeInProgress");
  const View reported = pending.present() ? pending : progress;
  if (!reported.present()) return std::nullopt;
  const auto has = allocated(pod, about.container, *about.now);
  const bool stale =
      reported["observedGeneration"].number().value_or(1e18) < pod["metadata"]["generation"].number().value_or(0);
  const bool nothing_left = pending.present() && has && has->same_as(*about.now);
  if (stale || nothing_left) {
    about.state = "in_progress";
    about.why = "The kubelet has not processed the new requests yet.";
    return about;
  }
  about.why = reported["message"].text_or("the kubelet gives no reason");
  if (!pending.present()) {
    about.state = reported["reason"].text() == "Error" ? "failing" : "in_progress";
    about.why = about.state == "failing" ? "The kubelet failed to resize the pod: " + about.why
                                         : "The kubelet is resizing the pod.";
    return about;
  }
  if (reported["reason"].text() != "Infeasible") {
    about.state = "deferred";
    about.why = "The node has no room now (Deferred); the kubelet retries: " + about.why;
    return about;
  }
  about.state = "infeasible";
  about.why = "The node can never provide these requests (Infeasible): " + about.why;
  if (before == nullptr || about.foreign || about.now->same_as(before->original)) return about;
  // A scheduler would continue to count the request.
  about.state = "take_back";
  about.set = has ? *has : before->was.same_as(*about.now) ? before->original : before->was;
  return about;
}

struct Wish {
  Sizes set;
  std::vector<std::string> notes;
  bool refused = false;  // a part was refused before
};

// Returns whether the target is at least as large as a refused increase, or is a decrease after a refused decrease.
bool was_refused(double target, double has, std::optional<double> refused) {
  if (!refused) return false;
  return *refused > has ? target >= (1 - kSameRatio) * *refused : *refused < has && target < has;
}

Wish wish_of(const View& pod, const View& container, const Advice& advice, const Sizes& now, const PodRecord* before,
             const PlanOptions& options) {
  Wish wish{now, {}, false};
  const Sizes& original = before != nullptr ? before->original : now;
  const bool may_shrink = pod["metadata"]["annotations"][kShrink].text() == "allowed";
  const bool guaranteed = pod["status"]["qosClass"].text() == "Guaranteed";
  const bool young = options.now_s - kube::parse_time_s(pod["status"]["startTime"].text_or("")) < options.hold_s;
  for (const auto& [resource, wanted] :
       {std::pair(std::string("cpu"), advice.cpu_cores), std::pair(std::string("memory"), advice.memory_bytes)}) {
    const auto has = amount_of(now.requests, resource);
    if (!wanted || !has) continue;
    const std::string name = resource == "cpu" ? "CPU" : "Memory";
    double target = *wanted - others_request(pod, container["name"].text_or(""), resource);
    if (!may_shrink) target = std::max(target, amount_of(original.requests, resource).value_or(*has));
    std::string text = quantity_text(resource, std::max(target, 1 / kMilli));
    if (const auto had = amount_of(original.requests, resource); had && *had == target)
      text = original.requests.at(resource);
    const auto limit = amount_of(now.limits, resource);
    if (limit && !guaranteed && target > *limit) {
      wish.notes.push_back(name + " is capped by its limit.");
      target = *limit;
      text = now.limits.at(resource);
    }
    if (std::abs(target - *has) <= kSameRatio * *has) continue;
    if (target < *has ? options.direction == Direction::up : options.direction == Direction::down) continue;
    if (restarts(container, resource)) {
      wish.notes.push_back(name + " is unchanged because its resizePolicy would restart the container.");
      continue;
    }
    if (target < *has && young) {
      wish.notes.push_back(name + " is lowered only after the pod has run for half an hour.");
      continue;
    }
    if (before != nullptr && was_refused(target, *has, amount_of(before->refused.requests, resource))) {
      wish.refused = true;
      continue;
    }
    wish.set.requests[resource] = text;
    if (guaranteed && limit) wish.set.limits[resource] = text;
  }
  return wish;
}

}  // namespace

bool is_in_force(const Json& pod, const std::string& container) {
  const Sizes wanted = Sizes::of(named_item(View(pod)["spec"]["containers"], container)["resources"]);
  const View status = named_item(View(pod)["status"]["containerStatuses"], container);
  for (const auto& [resource, amount] : wanted.requests)
    if (status["allocatedResources"][resource].present() &&
        !is_reported({{resource, status["allocatedResources"][resource].any()}}, {{resource, amount}}))
      return false;
  const Sizes reported = Sizes::of(status["resources"]);
  return is_reported(reported.requests, wanted.requests) && is_reported(reported.limits, wanted.limits);
}

Verdict plan_pod(const Json& object, const Advice& advice, const PodRecord* before, const PlanOptions& options) {
  const View pod(object);
  if (auto stop = obstacle(pod, options)) return *stop;
  Verdict verdict;
  verdict.container = before != nullptr ? before->container : main_container(pod);
  const View container = named_item(pod["spec"]["containers"], verdict.container);
  if (!container.present()) {
    verdict.state = "refused";
    verdict.why =
        std::string(
            "The pod has several containers, and agents report whole pods: select the container with annotation ") +
        kMainContainer + ".";
    return verdict;
  }
  verdict.now = Sizes::of(container["resources"]);
  const Sizes& now = *verdict.now;
  if (now.requests.empty()) {
    verdict.state = "refused";
    verdict.why = "Container " + verdict.container + " has no requests (add requests to its template).";
    return verdict;
  }
  verdict.foreign =
      before != nullptr && !now.same_as(before->set) && !now.same_as(before->was) && !now.same_as(before->original);
  if (auto known = under_way(pod, before, verdict)) return *known;
  if (verdict.foreign || (before != nullptr && before->foreign && options.now_s - before->at_s < options.hold_s)) {
    verdict.state = "waits";
    verdict.why =
        "Another client changed the requests; Wattle takes them as the original values and waits for half an hour.";
    return verdict;
  }
  const Wish wish = wish_of(pod, container, advice, now, before, options);
  verdict.why = joined(wish.notes, " ");
  if (wish.set.same_as(now) && wish.refused) {
    verdict.state = before->state;
    verdict.why = before->why;
    return verdict;
  }
  if (wish.set.same_as(now)) {
    verdict.state = before != nullptr && !now.same_as(before->original) ? "in_force" : "keep";
    if (verdict.state == "in_force" && !is_in_force(object, verdict.container)) {
      verdict.state = "in_progress";
      verdict.why = "The kubelet has not finished yet.";
    }
    return verdict;
  }
  verdict.state = "write";
  verdict.set = wish.set;
  return verdict;
}

Restoration plan_restore(const Json& object, const PodRecord& before) {
  const View container = named_item(View(object)["spec"]["containers"], before.container);
  const Sizes now = Sizes::of(container["resources"]);
  if (now.same_as(before.original)) return {std::nullopt, "already has its original requests"};
  if (!now.same_as(before.set) && !now.same_as(before.was))
    return {std::nullopt, "another client has set " + now.text() + ", which is kept"};
  return {before.original, ""};
}

std::string autoscaler_of(const Json& list, std::string_view owner) {
  // Kinds that pods, or the owners of their owners, name.
  constexpr std::array<std::string_view, 7> kNamed{
      "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController", "Job", "CronJob"};
  const std::string_view lasting = lasting_owner(owner);
  std::string of_namespace;
  for (const View& one : View(list)["items"].items()) {
    if (one["spec"]["updatePolicy"]["updateMode"].text() == "Off") continue;
    const View target = one["spec"]["targetRef"];
    const std::string kind = target["kind"].text_or(""), name = target["name"].text_or("");
    if (name.empty()) continue;
    const std::string found = one["metadata"]["name"].text_or("without a name");
    const bool above =
        (kind == "CronJob" && lasting == "Job/" + name) || (kind == "Deployment" && lasting == "ReplicaSet/" + name);
    if (kind + "/" + name == owner || above) return found;
    if (of_namespace.empty() && std::find(kNamed.begin(), kNamed.end(), kind) == kNamed.end())
      of_namespace = found + ", which sets requests of " + kind + " " + name + " and therefore of unknown pods,";
  }
  return of_namespace;
}

Json resize_patch(const Json& pod, const std::string& container, const Sizes& set) {
  const View metadata = View(pod)["metadata"];
  Json resources = {{"requests", set.requests}};
  if (!set.limits.empty()) resources["limits"] = set.limits;
  Json containers = Json::array();
  containers.push_back({{"name", container}, {"resources", std::move(resources)}});
  return {{"metadata",
           {{"uid", metadata["uid"].text_or("")}, {"resourceVersion", metadata["resourceVersion"].text_or("")}}},
          {"spec", {{"containers", std::move(containers)}}}};
}

}  // namespace wattle::cli
