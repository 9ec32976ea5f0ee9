#include "cli/requests/owner_patch.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "cli/requests/record.hpp"
#include "cli/view.hpp"

namespace wattle::cli {
namespace {

constexpr double kUnchanged = 0.01;  // relative
constexpr std::array<const char*, 2> kResources{"cpu", "memory"};

struct OwnerKind {
  std::string_view kind, prefix, plural;
};
constexpr std::array<OwnerKind, 6> kOwnerKinds{{{"Deployment", "/apis/apps/v1", "deployments"},
                                                {"StatefulSet", "/apis/apps/v1", "statefulsets"},
                                                {"DaemonSet", "/apis/apps/v1", "daemonsets"},
                                                {"ReplicaSet", "/apis/apps/v1", "replicasets"},
                                                {"Job", "/apis/batch/v1", "jobs"},
                                                {"CronJob", "/apis/batch/v1", "cronjobs"}}};

// A container of the template, with the values that the patch gives it.
struct Part {
  std::string name;
  bool sidecar = false;
  Sizes has, set;  // `set`: what changes
};

std::string what_of(const char* resource) { return resource == kResources[0] ? "CPU" : "memory"; }

Result<std::vector<Part>> parts_of(const View& pod, const std::string& workload) {
  std::vector<Part> parts;
  for (const View& one : pod["containers"].items())
    parts.push_back({one["name"].text_or(""), false, Sizes::of(one["resources"]), {}});
  if (parts.empty())
    return fail(Errc::malformed, workload, "its template has no containers", "check the object with kubectl get");
  for (const View& one : pod["initContainers"].items())
    if (one["restartPolicy"].text() == "Always")
      parts.push_back({one["name"].text_or(""), true, Sizes::of(one["resources"]), {}});
  return parts;
}

bool is_guaranteed(const std::vector<Part>& parts) {
  return std::all_of(parts.begin(), parts.end(), [](const Part& part) {
    return std::all_of(kResources.begin(), kResources.end(), [&](const char* resource) {
      const auto limit = amount_of(part.has.limits, resource);
      return limit && amount_of(part.has.requests, resource).value_or(*limit) == *limit;
    });
  });
}

// A container without a request but with a limit requests its limit.
double request_of(const Part& part, const char* resource) {
  const auto request = amount_of(part.has.requests, resource);
  return request ? *request : amount_of(part.has.limits, resource).value_or(0);
}

// Divides the advice for the pod among its containers.
Status divide(std::vector<Part>& parts, const char* resource, double wanted, bool guaranteed,
              const std::string& workload, std::vector<std::string>& notes) {
  double sum = 0;
  for (const Part& part : parts) sum += request_of(part, resource);
  if (sum <= 0 && parts.size() > 1)
    return fail(Errc::malformed, workload,
                "none of its " + std::to_string(parts.size()) + " containers requests " + what_of(resource) +
                    ", so the pod's need cannot be divided among them",
                "add requests to the template first");
  if (sum > 0 && std::abs(wanted - sum) <= kUnchanged * sum) return {};
  for (Part& part : parts) {
    const double has = request_of(part, resource);
    if (sum > 0 && has <= 0) {
      notes.push_back("Container " + part.name + " requests no " + what_of(resource) + " and gets none.");
      continue;
    }
    double target = sum > 0 ? wanted * has / sum : wanted;
    const auto limit = amount_of(part.has.limits, resource);
    if (limit && !guaranteed && target > *limit) {
      notes.push_back("The limit of container " + part.name + " caps its " + what_of(resource) + ".");
      target = *limit;
    }
    const std::string text = quantity_text(resource, target);
    part.set.requests[resource] = text;
    if (guaranteed) part.set.limits[resource] = text;
  }
  return {};
}

// An object with one member. Written without nested braces, which compilers read in different ways.
OrderedJson within(const char* key, OrderedJson value) {
  OrderedJson object = OrderedJson::object();
  object[key] = std::move(value);
  return object;
}

OrderedJson containers_json(const std::vector<Part>& parts, bool sidecars) {
  OrderedJson list = OrderedJson::array();
  for (const Part& part : parts) {
    if (part.sidecar != sidecars || part.set.requests.empty()) continue;
    OrderedJson resources = within("requests", part.set.requests);
    if (!part.set.limits.empty()) resources["limits"] = part.set.limits;
    list.push_back({{"name", part.name}, {"resources", std::move(resources)}});
  }
  return list;
}

Status may_patch(const OwnerAdvice& advice) {
  if (!advice.level.empty())
    return fail(Errc::denied, advice.workload, "its pods have the annotation wattle.dev/provision: " + advice.level,
                "remove the annotation to get a patch");
  if (!advice.autoscaler.empty())
    return fail(Errc::denied, advice.workload, "VerticalPodAutoscaler " + advice.autoscaler + " sets its requests",
                "set its updateMode to Off or remove it");
  if (!advice.scaler.empty())
    return fail(
        Errc::denied, advice.workload,
        advice.scaler + " scales it by the ratio of use to requests, so other requests would change the number of pods",
        "use an AverageValue or another metric, or remove the autoscaler");
  if (!advice.cpu_cores && !advice.memory_bytes && !advice.replicas)
    return fail(Errc::not_found, advice.workload, "no suggestion yet",
                "see what is missing with `wattle provision why " + advice.workload + "`");
  return {};
}

std::string initial_note(const View& pod, const std::vector<Part>& parts) {
  for (const char* resource : kResources) {
    double sum = 0;
    for (const Part& part : parts) {
      const auto set = amount_of(part.set.requests, resource);
      sum += set ? *set : request_of(part, resource);
    }
    for (const View& one : pod["initContainers"].items())
      if (one["restartPolicy"].text() != "Always" &&
          amount_of(Sizes::of(one["resources"]).requests, resource).value_or(0) > sum)
        return "Init container " + one["name"].text_or("") + " requests more " + what_of(resource) +
               " than all others, so the pod still requests that much.";
  }
  return {};
}

}  // namespace

std::string owner_path(std::string_view name_space, std::string_view kind, std::string_view name) {
  for (const OwnerKind& each : kOwnerKinds)
    if (each.kind == kind)
      return std::string(each.prefix) + "/namespaces/" + std::string(name_space) + "/" + std::string(each.plural) +
             "/" + std::string(name);
  return {};
}

Result<OwnerPatch> owner_patch(const OrderedJson& owner, const OwnerAdvice& advice) {
  WATTLE_CHECK(may_patch(advice));
  const View view(owner);
  const std::string kind = view["kind"].text_or("");
  const bool scheduled = kind == "CronJob";
  const View spec = scheduled ? view["spec"]["jobTemplate"]["spec"] : view["spec"];
  const View pod = spec["template"]["spec"];
  WATTLE_TRY(std::vector<Part> parts, parts_of(pod, advice.workload));
  const bool guaranteed = is_guaranteed(parts);
  OwnerPatch made;
  const std::array wanted{advice.cpu_cores, advice.memory_bytes};
  for (std::size_t i = 0; i < kResources.size(); ++i)
    if (wanted[i]) WATTLE_CHECK(divide(parts, kResources[i], *wanted[i], guaranteed, advice.workload, made.notes));
  OrderedJson template_spec = OrderedJson::object();
  for (const bool sidecars : {false, true})
    if (OrderedJson list = containers_json(parts, sidecars); !list.empty())
      template_spec[sidecars ? "initContainers" : "containers"] = std::move(list);
  OrderedJson patched = OrderedJson::object();
  if (advice.replicas) patched["replicas"] = *advice.replicas;
  if (!template_spec.empty()) patched["template"] = within("spec", template_spec);
  if (patched.empty())
    return fail(Errc::not_found, advice.workload, "its template already requests what it needs", "nothing to apply");
  if (!template_spec.empty() && parts.size() > 1)
    made.notes.insert(made.notes.begin(), "Needs are known per pod: its " + std::to_string(parts.size()) +
                                              " containers share them in proportion to their present requests.");
  if (guaranteed && !template_spec.empty())
    made.notes.push_back("Limits change along, because they equal the requests (QoS class Guaranteed).");
  if (const std::string note = initial_note(pod, parts); !note.empty() && !template_spec.empty())
    made.notes.push_back(note);
  if (kind == "Job")
    made.notes.push_back("The template of an existing Job cannot be changed: use the patch for the next one.");
  OrderedJson body = std::move(patched);
  if (scheduled) body = within("jobTemplate", within("spec", std::move(body)));
  made.patch = {
      {"apiVersion", view["apiVersion"].text_or("")},
      {"kind", kind},
      {"metadata",
       {{"name", view["metadata"]["name"].text_or("")}, {"namespace", view["metadata"]["namespace"].text_or("")}}},
      {"spec", std::move(body)}};
  return made;
}

}  // namespace wattle::cli
