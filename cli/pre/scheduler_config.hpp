// scheduler_config: checks a kube-scheduler's configuration against the requirements of its extender.
// Source   YAML documents: a KubeSchedulerConfiguration, a ConfigMap that contains one, and a Pod, Deployment or
//          DaemonSet that runs kube-scheduler (its command line has --config and the feature gates); a List of them;
//          other documents are skipped
// Errors   findings, including one for a ConfigMap's text that is not YAML
// Threads  pure
#pragma once

#include <string>
#include <vector>

#include "cli/pre/finding.hpp"
#include "common/json/value.hpp"

namespace wattle::cli {

// `beside`: the other files under examination, one of which a manifest's --config should name.
std::vector<Finding> judge_scheduler(const std::vector<OrderedJson>& documents, const std::string& where,
                                     const std::vector<std::string>& beside = {});

}  // namespace wattle::cli
