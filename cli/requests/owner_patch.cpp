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

// Amount to which quantity_text() rounds up.
double unit_of(const char* resource) { return resource == kResources[0] ? 1e-3 : 1 << 20; }
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

// Returns the largest amount that the container may request.
std::optional<double> cap_of(const Part& part, const char* resource, bool guaranteed) {
  return guaranteed ? std::nullopt : amount_of(part.has.limits, resource);
}

// Divides `wanted` in proportion to the current requests. An amount above a container's limit is given to the others.
std::vector<double> shares_of(const std::vector<Part>& parts, const char* resource, double wanted, bool guaranteed) {
  std::vector<double> shares(parts.size(), 0);
  std::vector<bool> capped(parts.size(), false);
  for (bool again = true; again;) {
    again = false;
    double left = wanted, open = 0;
    for (std::size_t i = 0; i < parts.size(); ++i)
      (capped[i] ? left : open) += capped[i] ? -shares[i] : request_of(parts[i], resource);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (capped[i]) continue;
      shares[i] = open > 0 ? left * request_of(parts[i], resource) / open : left;
      const auto cap = cap_of(parts[i], resource, guaranteed);
      if (!cap || shares[i] <= *cap) continue;
      shares[i] = *cap;
      capped[i] = again = true;
    }
  }
  return shares;
}

// Rounds up to a unit, except where that is above the limit.
void set_request(Part& part, const char* resource, double share, bool guaranteed) {
  std::string text = quantity_text(resource, share);
  const auto cap = cap_of(part, resource, guaranteed), rounded = amount_of({{resource, text}}, resource);
  if (cap && rounded && *rounded > *cap) text = part.has.limits.at(resource);
  const auto set = amount_of({{resource, text}}, resource);
  if (set && *set == amount_of(part.has.requests, resource)) return;
  part.set.requests[resource] = text;
  if (guaranteed) part.set.limits[resource] = text;
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
  // An earlier patch has rounded each container's request up by less than a unit.
  const double rounding = static_cast<double>(parts.size()) * unit_of(resource);
  if (sum > 0 && (std::abs(wanted - sum) <= kUnchanged * sum || (sum > wanted && sum - wanted < rounding))) return {};
  const std::vector<double> shares = shares_of(parts, resource, wanted, guaranteed);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Part& part = parts[i];
    if (sum > 0 && request_of(part, resource) <= 0) {
      notes.push_back("Container " + part.name + " requests no " + what_of(resource) + " and gets none.");
      continue;
    }
    if (const auto cap = cap_of(part, resource, guaranteed); cap && shares[i] >= *cap)
      notes.push_back("The limit of container " + part.name + " caps its " + what_of(resource) + ".");
    set_request(part, resource, shares[i], guaranteed);
  }
  return {};
}

bool equals_limit(const Part& part, const char* resource) {
  const auto limit = amount_of(part.has.limits, resource), set = amount_of(part.set.requests, resource);
  return limit && set.value_or(request_of(part, resource)) == *limit;
}

// Keeps the QoS class of a template whose requests would all equal their limits: as Guaranteed, its limits would then
// change with its requests.
void keep_class(std::vector<Part>& parts, std::vector<std::string>& notes) {
  for (const Part& part : parts)
    for (const char* resource : kResources)
      if (!equals_limit(part, resource)) return;
  for (Part& part : parts)
    for (const char* resource : kResources) {
      if (!part.set.requests.contains(resource)) continue;
      const std::string text = quantity_text(resource, *amount_of(part.has.limits, resource) - unit_of(resource));
      if (amount_of({{resource, text}}, resource) <= 0.0) continue;
      part.set.requests[resource] = text;
      if (amount_of(part.has.requests, resource) == amount_of(part.set.requests, resource))
        part.set.requests.erase(resource);
      notes.push_back("Container " + part.name + " requests a unit less " + what_of(resource) +
                      " than its limit, so that the QoS class stays the same.");
      return;
    }
}

// An object with one member. Avoids nested braces, which compilers interpret differently.
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

// Returns the controller that manages the owner and would undo the patch; empty: none.
std::string manager_of(const View& owner) {
  for (const View& one : owner["metadata"]["ownerReferences"].items())
    if (one["controller"].flag() == true) return one["kind"].text_or("") + " " + one["name"].text_or("");
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
  if (pod["resources"]["requests"].present() || pod["resources"]["limits"].present())
    return fail(Errc::denied, advice.workload,
                "its template has pod-level resources, so the requests of its containers are not what the pod requests",
                "change spec.template.spec.resources by hand (wattle provision why shows the need)");
  WATTLE_TRY(std::vector<Part> parts, parts_of(pod, advice.workload));
  const bool guaranteed = is_guaranteed(parts);
  OwnerPatch made;
  const std::array wanted{advice.cpu_cores, advice.memory_bytes};
  for (std::size_t i = 0; i < kResources.size(); ++i)
    if (wanted[i]) WATTLE_CHECK(divide(parts, kResources[i], *wanted[i], guaranteed, advice.workload, made.notes));
  if (!guaranteed) keep_class(parts, made.notes);
  OrderedJson template_spec = OrderedJson::object();
  for (const bool sidecars : {false, true})
    if (OrderedJson list = containers_json(parts, sidecars); !list.empty())
      template_spec[sidecars ? "initContainers" : "containers"] = std::move(list);
  OrderedJson patched = OrderedJson::object();
  if (advice.replicas && view["spec"]["replicas"].number().value_or(0) > static_cast<double>(*advice.replicas))
    patched["replicas"] = *advice.replicas;
  if (!template_spec.empty()) patched["template"] = within("spec", template_spec);
  if (patched.empty())
    return fail(Errc::not_found, advice.workload, "its template already requests what it needs", "nothing to apply");
  if (!template_spec.empty() && parts.size() > 1)
    made.notes.insert(made.notes.begin(), "Needs are known per pod: its " + std::to_string(parts.size()) +
                                              " containers share them in proportion to their current requests.");
  constexpr double kDay_s = 86'400, kHour_s = 3600;
  if (advice.observed_s < kDay_s && !template_spec.empty())
    made.notes.push_back("Only " + std::to_string(static_cast<long long>(advice.observed_s / kHour_s)) +
                         " h are observed, so a need at another time of day may be missing.");
  if (guaranteed && !template_spec.empty())
    made.notes.push_back("Limits change too, because they equal the requests (QoS class Guaranteed).");
  if (const std::string note = initial_note(pod, parts); !note.empty() && !template_spec.empty())
    made.notes.push_back(note);
  if (const std::string manager = manager_of(view); !manager.empty())
    made.notes.push_back(manager + " manages this object and may undo the patch: change its template there.");
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
