#include "controller/provision/request_words.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>

namespace wattle::controller {
namespace {

constexpr double kSecondsPerHour = 3600, kSecondsPerMinute = 60;
constexpr double kBytesPerMiB = 1 << 20;

std::string cores_text(double value) {
  char text[48];
  std::snprintf(text, sizeof text, "%.3g cores", value);
  return text;
}

std::string memory_text(double value) {
  char text[48];
  std::snprintf(text, sizeof text, "%.0f MiB", value / kBytesPerMiB);
  return text;
}

struct ResourceWords {
  const char* name;
  std::string (*text)(double);
  std::optional<double> wanted, suggested, low_since_s;
  double request = 0, original = 0;
};

// Describes the wanted value and the suggestion for one resource.
std::string resource_sentence(const RequestWorkload& workload, const ResourceWords& of) {
  if (!of.wanted) return std::string(of.name) + ": no agent has told of it yet.";
  std::string text = std::string(of.name) + ": needs " + of.text(*of.wanted) + ", requests " + of.text(of.request);
  if (std::abs(of.request - of.original) > 0.01 * of.original)
    text += " (" + of.text(of.original) + " before it was set)";
  if (!of.suggested) return text + ".";
  const bool less = *of.wanted < of.request;
  if (std::abs(*of.suggested - of.request) > 0.01 * of.request)
    return text + "; would be " + of.text(*of.suggested) + ".";
  if (less && !workload.shrink_allowed)
    return text + "; stays, for its pods do not allow less (annotation wattle.dev/shrink: allowed).";
  if (less && workload.rule.lower_needs_s() == 0 && of.low_since_s)
    return text + "; less is needed, but not yet for half an hour.";
  return text + "; stays.";
}

const char* class_words(const RequestWorkload& workload) {
  if (workload.qos == "BestEffort")
    return "Its pods are of QoS class BestEffort: a running pod cannot be given requests, its template can.";
  if (workload.qos == "Guaranteed")
    return "Its pods are of QoS class Guaranteed: whoever changes a request changes its limit with it.";
  return nullptr;
}

void resize_words(const ResizeCounts& resizes, std::vector<std::string>& words) {
  const auto say = [&](std::size_t pods, const std::string& what) {
    if (pods > 0) words.push_back("Of its pods, " + std::to_string(pods) + " " + what);
  };
  const std::string told = resizes.message.empty() ? "." : ": " + resizes.message;
  say(resizes.set, "had their requests set (wattle provision restore puts back what was there).");
  say(resizes.in_progress, "are being resized by their kubelets.");
  say(resizes.failing, "are being resized with errors" + told);
  say(resizes.deferred, "wait for room on their nodes (Deferred); their kubelets try again" + told);
  say(resizes.infeasible, "asked for what their nodes can never give (Infeasible)" + told);
}

void level_words(const LevelCounts& levels, std::vector<std::string>& words) {
  const auto say = [&](std::size_t pods, const std::string& what) {
    if (pods > 0) words.push_back("Of its pods, " + std::to_string(pods) + " " + what);
  };
  say(levels.off, "are left alone (annotation wattle.dev/provision: off).");
  say(levels.suggest, "are told of and never set (annotation wattle.dev/provision: suggest).");
  say(levels.limits - levels.both,
      "have limits instead of requests (annotation wattle.dev/provision: limits): set where their node's agent has "
      "provisioning.pod_limits: true, which Kubernetes does not support; what they request is left alone.");
  say(levels.protect,
      "have their memory protected (annotation wattle.dev/provision: protect) where their node's agent has "
      "provisioning.pod_limits: true, which Kubernetes does not support; their requests stay.");
  say(levels.both,
      "say limits (annotation wattle.dev/provision), but what they request was set: a pod has one of both, so that "
      "their "
      "limits are left alone. New pods in their place have limits.");
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
  if (workload.pods == 0) words.emplace_back("It has no pod at present.");
  if (rule.raise_needs_s() > 0) {
    words.push_back("It needs " + more_time(rule.raise_needs_s()) + " of telemetry before anything is suggested, and " +
                    more_time(rule.lower_needs_s()) + " before less is.");
  } else if (rule.lower_needs_s() > 0) {
    words.push_back("It needs " + more_time(rule.lower_needs_s()) + " of telemetry before less is suggested.");
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
                    " containers; agents tell of pods, so the figures are of all of them together.");
  level_words(workload.levels, words);
  resize_words(workload.resizes, words);
  if (const char* text = class_words(workload)) words.emplace_back(text);
  return words;
}

}  // namespace wattle::controller
