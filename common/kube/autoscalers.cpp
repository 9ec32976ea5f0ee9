#include "common/kube/autoscalers.hpp"

#include "common/json/value.hpp"

#include "common/http/target.hpp"
#include "common/kube/json.hpp"
#include "common/owner_name.hpp"

namespace wattle::kube {
namespace {

using json = SortedJson;

constexpr std::size_t kMostPages = 1000;
constexpr std::string_view kGroups[] = {"/apis/autoscaling/v2/", "/apis/keda.sh/v1alpha1/"};
constexpr std::string_view kPlurals[] = {"horizontalpodautoscalers", "scaledobjects"};
constexpr std::string_view kKinds[] = {"HorizontalPodAutoscaler", "ScaledObject"};

std::string path_of(AutoscalerKind kind, const std::string& name_space) {
  const auto index = static_cast<std::size_t>(kind);
  const std::string within = name_space.empty() ? "" : "namespaces/" + name_space + "/";
  return std::string(kGroups[index]) + within + std::string(kPlurals[index]);
}

// Kinds that pods name as their owner under the name that the autoscaler uses.
bool names_workload(const std::string& kind) {
  return kind == "Deployment" || kind == "StatefulSet" || kind == "ReplicaSet" || kind == "ReplicationController";
}

struct Utilisation {
  bool cpu = false, memory = false;
  void add(const std::string& resource) {
    cpu = cpu || resource == "cpu";
    memory = memory || resource == "memory";
  }
  std::string text() const {
    return cpu && memory ? " (CPU and memory utilisation)" : cpu ? " (CPU utilisation)" : " (memory utilisation)";
  }
  explicit operator bool() const { return cpu || memory; }
};

// Handles Resource and ContainerResource. A target without a type but with a utilisation is of type Utilization.
void add_metric(const json& metric, Utilisation& out) {
  for (const char* source : {"resource", "containerResource"}) {
    const json& resource = member(metric, source);
    const json& target = member(resource, "target");
    const std::string type = text_of(target, "type");
    if (type == "Utilization" || (type.empty() && !member(target, "averageUtilization").is_null()))
      out.add(text_of(resource, "name"));
  }
}

// Without metrics, an HPA scales by CPU utilisation, as API servers default it.
Utilisation of_horizontal(const json& spec) {
  Utilisation out;
  const json& metrics = member(spec, "metrics");
  if (!metrics.is_array() || metrics.empty())
    out.cpu = true;
  else
    for (const json& metric : metrics) add_metric(metric, out);
  return out;
}

// KEDA's triggers cpu and memory use utilisation unless they specify another type.
Utilisation of_keda(const json& spec) {
  Utilisation out;
  const json& triggers = member(spec, "triggers");
  if (!triggers.is_array()) return out;
  for (const json& trigger : triggers) {
    std::string metric = text_of(trigger, "metricType");
    if (metric.empty()) metric = text_of(member(trigger, "metadata"), "type");
    if (metric != "AverageValue" && metric != "Value") out.add(text_of(trigger, "type"));
  }
  return out;
}

}  // namespace

std::string ScaledWorkloads::of(const std::string& workload) const {
  if (const auto found = workloads.find(workload); found != workloads.end()) return found->second;
  const auto space = namespaces.find(workload.substr(0, workload.find('/')));
  return space == namespaces.end() ? std::string() : space->second;
}

Result<std::string> read_autoscalers(std::string_view body, AutoscalerKind kind, AutoscalerLists& out) {
  const std::string what(kKinds[static_cast<std::size_t>(kind)]);
  const json list = json::read(body, {.text_bytes = 64 << 20, .built_bytes = 384 << 20});
  const json& items = member(list, "items");
  // An empty list may be written as null.
  if (!list.is_object() || !list.contains("items") || !(items.is_array() || items.is_null()))
    return fail(Errc::malformed, what + "s", "the API server did not return a list");
  for (const json& item : items) {
    const json& spec = member(item, "spec");
    const json& about = member(item, "metadata");
    const json& target = member(spec, "scaleTargetRef");
    const std::string space = text_of(about, "namespace"), name = text_of(target, "name");
    if (space.empty() || name.empty()) return fail(Errc::malformed, what + "s", "one has no namespace or no target");
    if (++out.autoscalers > kMostAutoscalers)
      return fail(Errc::out_of_range, what + "s", "more than " + std::to_string(kMostAutoscalers));
    const std::string whole = what + " " + space + "/" + text_of(about, "name");
    const Utilisation by = kind == AutoscalerKind::horizontal ? of_horizontal(spec) : of_keda(spec);
    std::string target_kind = text_of(target, "kind");
    if (target_kind.empty()) target_kind = "Deployment";  // KEDA's default
    if (names_workload(target_kind)) {
      const std::string owner = shortened(target_kind + "/" + name, kMaxNameBytes);
      const std::string workload = space + "/" + std::string(lasting_owner(owner));
      out.all.workloads[workload] = whole;
      if (by) out.by_utilisation.workloads[workload] = whole + by.text();
    } else {
      const std::string scales = ", which scales " + target_kind + " " + name + " and therefore unknown pods,";
      out.all.namespaces[space] = whole + scales;
      if (by) out.by_utilisation.namespaces[space] = whole + by.text() + scales;
    }
  }
  return text_of(member(list, "metadata"), "continue");
}

Result<AutoscalerLists> list_autoscalers(Api& api, const std::string& name_space, const std::string& grant) {
  AutoscalerLists out;
  for (const AutoscalerKind kind : {AutoscalerKind::horizontal, AutoscalerKind::keda}) {
    const std::string path = path_of(kind, name_space);
    std::string next;
    std::size_t pages = 0;
    do {
      if (++pages > kMostPages) return fail(Errc::out_of_range, path, "the list has no end");
      const std::string more = next.empty() ? "" : "&continue=" + http::percent_encode(next);
      WATTLE_TRY(const Reply reply, api.get(path + "?limit=500" + more));
      if (reply.status == 404 && kind == AutoscalerKind::keda) break;
      if (reply.status == 401 || reply.status == 403)
        return fail(Errc::denied, path, "the API server does not allow listing them", grant);
      if (reply.status != 200)
        return fail(Errc::unavailable, path, "the API server returned HTTP " + std::to_string(reply.status));
      WATTLE_TRY(next, read_autoscalers(reply.body, kind, out));
    } while (!next.empty());
  }
  return out;
}

}  // namespace wattle::kube
