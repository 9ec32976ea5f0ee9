#include "controller/provision/request_words.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "common/formatted.hpp"

namespace wattle::controller {
namespace {

constexpr double kSecondsPerHour = 3600, kSecondsPerMinute = 60;
constexpr double kBytesPerMiB = 1 << 20;

std::string cores_text(double value) { return formatted("%.3g cores", value); }

std::string memory_text(double value) { return fixed(value / kBytesPerMiB, 0) + " MiB"; }

struct ResourceWords {
  const char* name;
  std::string (*text)(double);
  std::optional<double> wanted, suggested, low_since_s;
  double request = 0, original = 0;
};

// Describes the wanted value and the suggestion for one resource.
std::string resource_sentence(const RequestWorkload& workload, const ResourceWords& of) {
  if (!of.wanted) return std::string(of.name) + ": no data yet.";
  std::string text = std::string(of.name) + ": needs " + of.text(*of.wanted) + ", requests " + of.text(of.request);
  if (std::abs(of.request - of.original) > 0.01 * of.original)
    text += " (" + of.text(of.original) + " before it was set)";
  if (!of.suggested) return text + ".";
  const bool less = *of.wanted < of.request;
  if (std::abs(*of.suggested - of.request) > 0.01 * of.request)
    return text + "; suggested: " + of.text(*of.suggested) + ".";
  if (less && !workload.shrink_allowed)
    return text +
           "; unchanged, because its pods do not allow smaller requests (annotation wattle.dev/shrink: allowed).";
  if (less && workload.rule.lower_needs_s() == 0 && of.low_since_s)
    return text + "; unchanged until the smaller need has lasted for half an hour.";
  return text + "; unchanged.";
}

const char* class_words(const RequestWorkload& workload) {
  if (workload.qos == "BestEffort")
    return "The pods have QoS class BestEffort, which cannot change while they run (add requests to the template).";
  if (workload.qos == "Guaranteed")
    return "The pods have QoS class Guaranteed: a change of a request also changes its limit.";
  return nullptr;
}

// Adds the sentence if it applies to any pods.
void say(std::vector<std::string>& words, std::size_t pods, const std::string& what) {
  if (pods > 0) words.push_back("Pods: " + std::to_string(pods) + " " + what);
}

void resize_words(const ResizeCounts& resizes, std::vector<std::string>& words) {
  using enum kube::PodResize;
  const std::string reason = resizes.message.empty() ? "." : ": " + resizes.message;
  say(words, resizes.set, "with requests set by Wattle (`wattle provision restore` restores the original requests).");
  say(words, resizes.of(in_progress), "being resized by the kubelet.");
  say(words, resizes.of(failing), "with errors while being resized" + reason);
  say(words, resizes.of(deferred), "waiting for room on the node (Deferred); the kubelet retries" + reason);
  say(words, resizes.of(infeasible), "with requests that the node can never provide (Infeasible)" + reason);
}

void level_words(const LevelCounts& levels, std::vector<std::string>& words) {
  using enum kube::PodProvision;
  say(words, levels.of(off), "excluded (annotation wattle.dev/provision: off).");
  say(words, levels.of(suggest), "with suggestions only (annotation wattle.dev/provision: suggest).");
  say(words, levels.of(limits) - levels.both,
      "with limits instead of requests (annotation wattle.dev/provision: limits); the node's agent sets them if "
      "provisioning.pod_limits is true, which Kubernetes does not support.");
  say(words, levels.of(protect),
      "with protected memory (annotation wattle.dev/provision: protect); the node's agent protects it if "
      "provisioning.pod_limits is true, which Kubernetes does not support.");
  say(words, levels.both,
      "with annotation wattle.dev/provision: limits but with requests set by Wattle; Wattle does not set both, so only "
      "their replacements get limits.");
}

}  // namespace

std::string_view state_of(const RequestWorkload& workload) {
  if (const auto apart = level_apart(workload); apart != kube::PodProvision::unsaid) return to_string(apart);
  if (!workload.rule.cpu_cores() && !workload.rule.memory_bytes()) return "learning";
  if (!differs(workload)) return "keep";
  const double cpu = workload.suggested_cores().value_or(workload.request.cpu_cores) - workload.request.cpu_cores;
  const double memory =
      workload.suggested_bytes().value_or(workload.request.memory_bytes) - workload.request.memory_bytes;
  if (cpu >= 0 && memory >= 0) return "raise";
  return cpu <= 0 && memory <= 0 ? "lower" : "change";
}

std::string more_time(double seconds) {
  const bool hours = seconds > 1.5 * kSecondsPerHour;
  const auto count =
      static_cast<long>(std::ceil(std::max(seconds, 1.0) / (hours ? kSecondsPerHour : kSecondsPerMinute) - 1e-9));
  return std::to_string(count) + " more " + (hours ? "hour" : "minute") + (count == 1 ? "" : "s");
}

std::vector<std::string> request_words(const RequestWorkload& workload) {
  std::vector<std::string> words;
  const placement::RequestRule& rule = workload.rule;
  if (workload.pods == 0) words.emplace_back("The workload has no pods now.");
  if (rule.raise_needs_s() > 0) {
    words.push_back("Needs " + more_time(rule.raise_needs_s()) + " of telemetry before any suggestion, and " +
                    more_time(rule.lower_needs_s()) + " before a smaller one.");
  } else if (rule.lower_needs_s() > 0) {
    words.push_back("Needs " + more_time(rule.lower_needs_s()) + " of telemetry before a smaller suggestion.");
  }
  words.push_back(resource_sentence(
      workload, {"CPU", cores_text, rule.wanted_cores(), workload.suggested_cores(), rule.cpu_track().low_since_s(),
                 workload.request.cpu_cores, workload.original.cpu_cores}));
  words.push_back(resource_sentence(
      workload, {"Memory", memory_text, rule.wanted_bytes(), workload.suggested_bytes(),
                 rule.memory_track().low_since_s(), workload.request.memory_bytes, workload.original.memory_bytes}));
  if (const auto containers = 1 + std::count(workload.containers.begin(), workload.containers.end(), ',');
      containers > 1)
    words.push_back("Its pods have " + std::to_string(containers) +
                    " containers; agents report whole pods, so the figures are sums over all containers.");
  level_words(workload.levels, words);
  resize_words(workload.resizes, words);
  if (const char* text = class_words(workload)) words.emplace_back(text);
  return words;
}

}  // namespace wattle::controller
