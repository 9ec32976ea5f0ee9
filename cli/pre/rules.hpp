// rules: what a kube-scheduler must be told so that its extender works, whoever says it: its configuration or a chart's values.
// Source   kube-scheduler 1.26 to 1.35: pkg/scheduler/extender.go, apis/config/validation
// Threads  pure
#pragma once

#include <optional>
#include <string>

#include "cli/pre/finding.hpp"

namespace wattle::cli {

void judge_weight(Findings& out, const std::string& name, std::optional<double> weight);
// `text` as in "200ms"; absent: kube-scheduler's own 5 s.
void judge_timeout(Findings& out, const std::string& name, const std::optional<std::string>& text);
// Absent and 0: adaptive.
void judge_sampling(Findings& out, const std::string& name, std::optional<double> percentage);

// "v1.35.4", "1.35+" and the like.
struct MinorVersion {
  int major = 0, minor = 0;
  auto operator<=>(const MinorVersion&) const = default;
  std::string text() const { return std::to_string(major) + "." + std::to_string(minor); }
};
std::optional<MinorVersion> parse_version(std::string_view text);
inline constexpr MinorVersion kOldestKube{1, 26};  // has kubescheduler.config.k8s.io/v1 and what the manifests use
inline constexpr MinorVersion kNewestKube{1, 35};  // what was tried
// The gate OpportunisticBatching, which a scheduler needs neither on nor off: batching disables itself in a profile that has extenders
// (computeBatchablePlugins). Known from the first to the last of these; a scheduler that does not know a gate does not start.
inline constexpr MinorVersion kBatchingGateFirst{1, 35}, kBatchingGateLast{1, 37};

}  // namespace wattle::cli
