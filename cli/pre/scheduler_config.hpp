// scheduler_config: what a kube-scheduler is told, held against what its extender needs.
// Source   documents of YAML: a KubeSchedulerConfiguration, a ConfigMap that holds one, and a Pod, Deployment or DaemonSet that runs
//          kube-scheduler (its command line has --config and the feature gates); a List of them; others are passed over
// Errors   findings; a text within a ConfigMap that is no YAML is one
// Threads  pure
#pragma once

#include <string>
#include <vector>

#include "cli/pre/finding.hpp"
#include "common/json/value.hpp"

namespace wattle::cli {

// `beside`: the other files that are looked at, one of which a manifest's --config should name.
std::vector<Finding> judge_scheduler(const std::vector<OrderedJson>& documents, const std::string& where,
                                     const std::vector<std::string>& beside = {});

}  // namespace wattle::cli
