// cluster_rules: compares an API server's version, nodes and namespaces with the requirements of an installation.
// Source   GET /version, nodes, namespaces; SelfSubjectAccessReview
// Threads  pure
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "cli/pre/finding.hpp"
#include "common/json/value.hpp"

namespace wattle::cli {

// `scheduler_tag`: version of the second kube-scheduler; empty: the chart uses the cluster's.
std::vector<Finding> judge_version(const OrderedJson& version, const std::string& scheduler_tag);
// `wanted`: the storage class that the values name for the controller's volume; empty: the cluster's default.
std::vector<Finding> judge_storage(const std::vector<OrderedJson>& classes, const std::string& wanted);
std::vector<Finding> judge_nodes(const std::vector<OrderedJson>& nodes);
// `found` has no value if the namespace does not exist yet; `level` is the Pod Security level that its pods need.
std::vector<Finding> judge_namespace(const std::string& name, const std::string& level,
                                     const std::optional<OrderedJson>& found);
// `refusal`: the API server's refusal of a dry-run pod with that priority class (empty: none) in that namespace; no
// value if it admits the pod.
// `quota`: the chart creates a ResourceQuota for such pods.
std::vector<Finding> judge_priority(const std::string& name_space, const std::string& priority,
                                    const std::optional<std::string>& refusal, bool quota);

// A permission that the installing user needs.
struct Permission {
  const char* verb;
  const char* group;
  const char* resource;
  bool in_control, in_agents;  // namespaces; neither: cluster-wide
};
inline constexpr std::array<Permission, 15> kInstallerNeeds{{
    {"create", "", "namespaces", false, false},
    {"create", "rbac.authorization.k8s.io", "clusterroles", false, false},
    {"create", "rbac.authorization.k8s.io", "clusterrolebindings", false, false},
    {"create", "rbac.authorization.k8s.io", "roles", true, true},
    {"create", "rbac.authorization.k8s.io", "rolebindings", true, true},
    {"create", "", "serviceaccounts", true, true},
    {"create", "", "configmaps", true, true},
    {"create", "", "services", true, false},
    {"create", "", "persistentvolumeclaims", true, false},
    {"create", "apps", "deployments", true, false},
    {"create", "apps", "daemonsets", false, true},
    {"create", "batch", "jobs", true, false},
    {"create", "networking.k8s.io", "networkpolicies", true, true},
    {"create", "", "resourcequotas", true, true},
    {"create", "policy", "poddisruptionbudgets", true, false},
}};

}  // namespace wattle::cli
