#include "cli/pre/live.hpp"

#include <tuple>

#include "cli/pre/cluster_rules.hpp"
#include "cli/pre/expiry.hpp"
#include "cli/pre/neighbours.hpp"
#include "cli/view.hpp"
#include "common/http/target.hpp"

namespace wattle::cli {

namespace {
constexpr std::size_t kMaxPages = 200;

Status ask_permission(Cluster& cluster, const Permission& needed, const std::string& name_space, Findings& out) {
  Json attributes = {{"verb", needed.verb}, {"group", needed.group}, {"resource", needed.resource}};
  if (!name_space.empty()) attributes["namespace"] = name_space;
  WATTLE_TRY(const Json answer, cluster.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                                             {{"apiVersion", "authorization.k8s.io/v1"},
                                              {"kind", "SelfSubjectAccessReview"},
                                              {"spec", {{"resourceAttributes", std::move(attributes)}}}}));
  if (View(answer)["status"]["allowed"].flag() == true) return {};
  out.failed("permission",
             std::string("permission denied: ") + needed.verb + " " + needed.resource +
                 (name_space.empty() ? " of the cluster" : " in " + name_space),
             "install as a cluster administrator");
  return {};
}

Result<std::vector<Finding>> judge_permissions(Cluster& cluster, const Installation& installation) {
  Findings out("cluster");
  for (const Permission& needed : kInstallerNeeds) {
    if (!needed.in_control && !needed.in_agents) WATTLE_CHECK(ask_permission(cluster, needed, "", out));
    if (needed.in_control) WATTLE_CHECK(ask_permission(cluster, needed, installation.control, out));
    if (needed.in_agents) WATTLE_CHECK(ask_permission(cluster, needed, installation.agents, out));
  }
  std::vector<Finding> all = std::move(out).all();
  if (all.empty())
    all.push_back({"cluster", "permission", State::ok, "all permissions that an installation needs", ""});
  return all;
}

std::vector<Json> items_of(const Json& list) {
  if (!list.contains("items") || !list["items"].is_array()) return {};
  return {list["items"].begin(), list["items"].end()};
}

// Returns the items of all pages.
Result<std::vector<Json>> list_all(Cluster& cluster, const std::string& target) {
  std::vector<Json> found;
  std::string next;
  for (std::size_t page = 0; page < kMaxPages; ++page) {
    const std::string more = next.empty() ? "" : "&continue=" + http::percent_encode(next);
    WATTLE_TRY(Json list, cluster.get(target + "?limit=500" + more));
    for (Json& one : items_of(list)) found.push_back(std::move(one));
    next = View(list)["metadata"]["continue"].text_or("");
    if (next.empty()) return found;
  }
  return fail(Errc::out_of_range, target, "the list has more than " + std::to_string(kMaxPages) + " pages");
}

Result<std::vector<Finding>> examine_neighbours(Cluster& cluster) {
  Neighbourhood seen;
  WATTLE_TRY(seen.groups, cluster.get("/apis"));
  for (const char* target : {"/apis/apps/v1/deployments", "/apis/batch/v1/cronjobs"}) {
    WATTLE_TRY(auto found, list_all(cluster, target));
    for (Json& one : found) seen.workloads.push_back(std::move(one));
  }
  if (has_group(seen.groups, "autoscaling.k8s.io")) {
    WATTLE_TRY(seen.vpas, list_all(cluster, "/apis/autoscaling.k8s.io/v1/verticalpodautoscalers"));
  }
  WATTLE_TRY(const auto reported, cluster.find("/api/v1/namespaces/kube-system/configmaps/cluster-autoscaler-status"));
  seen.cluster_autoscaler_status = reported.has_value();
  return judge_neighbours(seen);
}

// Creates a pod in a dry run. For a missing namespace it uses `default`, which has no quota of Wattle's either, and
// requests almost nothing there.
Result<std::vector<Finding>> examine_priority(Cluster& cluster, const std::string& name_space, bool exists,
                                              const std::string& priority, const Json& resources, bool quotas) {
  const Json locked = {{"allowPrivilegeEscalation", false}, {"capabilities", {{"drop", Json::array({"ALL"})}}}};
  const Json little = {{"limits", {{"cpu", "1m"}, {"memory", "1Mi"}}}};
  const Json container = {{"name", "probe"},
                          {"image", "wattle-agent"},
                          {"securityContext", locked},
                          {"resources", exists ? resources : little}};
  const Json spec = {{"priorityClassName", priority},
                     {"automountServiceAccountToken", false},
                     {"securityContext", {{"runAsNonRoot", true}, {"seccompProfile", {{"type", "RuntimeDefault"}}}}},
                     {"containers", Json::array({container})}};
  const auto made = cluster.post(
      "/api/v1/namespaces/" + (exists ? name_space : "default") + "/pods?dryRun=All",
      {{"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", {{"generateName", "wattle-doctor-"}}}, {"spec", spec}});
  if (made) return judge_priority(name_space, priority, std::nullopt, quotas);
  // kube-apiserver answers 500 if a quota is missing, and 403 if one is used up.
  const bool refused = made.error().code == Errc::denied || made.error().code == Errc::malformed ||
                       made.error().what.find("quota") != std::string::npos;
  if (!refused) return tl::unexpected<Error>(made.error());
  return judge_priority(name_space, priority, made.error().what, quotas);
}

// Reports a denied request as a finding; other errors are returned.
Status may_not_look(Findings& out, const std::string& name, const Error& error) {
  if (error.code != Errc::denied) return tl::unexpected<Error>(error);
  out.failed(name, error.what, "run the command as a cluster administrator");
  return {};
}
}  // namespace

Result<std::vector<Json>> list_nodes(Cluster& cluster) { return list_all(cluster, "/api/v1/nodes"); }

Result<std::vector<Finding>> examine_cluster(Cluster& cluster, const Installation& installation) {
  Findings out("cluster");
  WATTLE_TRY(const Json version, cluster.get("/version"));
  out.take(judge_version(version, installation.scheduler_tag));
  WATTLE_TRY(auto permissions, judge_permissions(cluster, installation));
  out.take(std::move(permissions));
  for (const auto& [name, level, priority, resources] :
       {std::tuple(installation.control, "restricted", installation.control_priority, &installation.control_resources),
        std::tuple(installation.agents, "privileged", installation.agents_priority, &installation.agents_resources)}) {
    const auto found = cluster.find("/api/v1/namespaces/" + name);
    if (found)
      out.take(judge_namespace(name, level, *found));
    else
      WATTLE_CHECK(may_not_look(out, "namespace." + name, found.error()));
    WATTLE_TRY(auto admitted,
               examine_priority(cluster, name, found && found->has_value(), priority, *resources, installation.quotas));
    out.take(std::move(admitted));
  }
  if (installation.own_claim) {
    const auto classes = cluster.get("/apis/storage.k8s.io/v1/storageclasses");
    if (classes)
      out.take(judge_storage(items_of(*classes), installation.storage_class));
    else
      WATTLE_CHECK(may_not_look(out, "storage", classes.error()));
  }
  const auto nodes = list_nodes(cluster);
  if (nodes)
    out.take(judge_nodes(*nodes));
  else
    WATTLE_CHECK(may_not_look(out, "nodes", nodes.error()));
  const auto reported = cluster.find("/api/v1/namespaces/" + installation.control + "/configmaps/wattle-public");
  if (reported && *reported)
    judge_expiry(out, "certificate.enrol", View(**reported)["data"]["ca.pem"].text_or(""), SystemClock().wall(),
                 "put a new tls.crt and tls.key into Secret wattle-controller and that certificate as ca.pem into both "
                 "ConfigMaps"
                 " wattle-public, then restart the controller");
  else if (!reported)
    WATTLE_CHECK(may_not_look(out, "certificate.enrol", reported.error()));
  auto neighbours = examine_neighbours(cluster);
  if (neighbours)
    out.take(*std::move(neighbours));
  else
    WATTLE_CHECK(may_not_look(out, "neighbours", neighbours.error()));
  return std::move(out).all();
}

}  // namespace wattle::cli
