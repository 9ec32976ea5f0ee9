// rules: checks a kube-scheduler's settings for its extender, from its configuration or from a chart's values.
// Source   kube-scheduler 1.26 to 1.35: pkg/scheduler/extender.go, apis/config/validation
// Threads  pure
#pragma once

#include <optional>
#include <string>

#include "cli/pre/finding.hpp"

namespace wattle::cli {

void judge_weight(Findings& out, const std::string& name, std::optional<double> weight);
// `text`: for example "200ms"; no value: kube-scheduler's default of 5 s.
void judge_timeout(Findings& out, const std::string& name, const std::optional<std::string>& text);
// No value and 0 mean adaptive.
void judge_sampling(Findings& out, const std::string& name, std::optional<double> percentage);

// A version from "v1.35.4", "1.35+" and similar.
struct MinorVersion {
  int major = 0, minor = 0;
  auto operator<=>(const MinorVersion&) const = default;
  std::string text() const { return std::to_string(major) + "." + std::to_string(minor); }
};
std::optional<MinorVersion> parse_version(std::string_view text);
// Oldest version with kubescheduler.config.k8s.io/v1 and the features that the manifests use.
inline constexpr MinorVersion kOldestKube{1, 26};
inline constexpr MinorVersion kNewestKube{1, 35};  // newest tested version
// The gate OpportunisticBatching. A scheduler needs it neither on nor off: batching disables itself in a profile with
// extenders (computeBatchablePlugins). Versions from the first to the last know the gate; a scheduler with an unknown
// gate does not start.
inline constexpr MinorVersion kBatchingGateFirst{1, 35}, kBatchingGateLast{1, 37};

}  // namespace wattle::cli
