// manifests: the manifests of Wattle with the values of one installation, for `wattle install`.
// Source   k8s/install.yaml, which k8s/render.py renders from the chart with placeholders; the build embeds it
// Rules    replaces the placeholders, and nothing else. Names of ConfigMaps and of the Job end with a hash of their
//          content, so that a change restarts the pods that use them, and never modifies a Job, which is immutable
// Errors   malformed: a value that the manifests cannot hold
// Threads  pure
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "common/result.hpp"

namespace wattle::cli {

struct InstallValues {
  std::string control = "wattle", agents;  // namespaces; agents empty: CONTROL-agent
  std::string registry, tag;               // of the images
  std::string scheduler_version;           // of kube-scheduler's image: the cluster's, "v1.35.4"
  std::string mode = "shadow";
  std::optional<std::pair<double, double>> estimate_w;  // idle and full power of nodes without meters
};

// The embedded file.
std::string_view embedded_manifests();
Result<std::string> manifests_of(std::string_view embedded, InstallValues values);

}  // namespace wattle::cli
