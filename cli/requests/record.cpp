#include "cli/requests/record.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "cli/view.hpp"
#include "common/parse.hpp"

namespace wattle::cli {
namespace {

constexpr std::array kResizable{"cpu", "memory"};
constexpr const char* kPodPrefix = "pod.";
constexpr double kMilliPerUnit = 1000, kBytesPerMiB = 1 << 20;

bool same_amounts(const std::map<std::string, std::string>& a, const std::map<std::string, std::string>& b) {
  for (const char* resource : kResizable) {
    const auto one = amount_of(a, resource), other = amount_of(b, resource);
    if (one.has_value() != other.has_value()) return false;
    if (one && std::abs(*one - *other) > 1e-9 * std::max(1.0, *one)) return false;
  }
  return true;
}

Json sizes_json(const Sizes& sizes) { return {{"requests", sizes.requests}, {"limits", sizes.limits}}; }

Json pod_json(const PodRecord& pod) {
  return {{"name", pod.name},
          {"workload", pod.workload},
          {"container", pod.container},
          {"original", sizes_json(pod.original)},
          {"was", sizes_json(pod.was)},
          {"set", sizes_json(pod.set)},
          {"refused", sizes_json(pod.refused)},
          {"at_s", pod.at_s},
          {"foreign", pod.foreign},
          {"state", pod.state},
          {"why", pod.why}};
}

std::optional<PodRecord> read_pod_record(const Json& json) {
  const View view(json);
  PodRecord pod{view["name"].text_or(""),
                view["workload"].text_or(""),
                view["container"].text_or(""),
                Sizes::of(view["original"]),
                Sizes::of(view["was"]),
                Sizes::of(view["set"]),
                Sizes::of(view["refused"]),
                0,
                view["foreign"].flag().value_or(false),
                view["state"].text_or(""),
                view["why"].text_or("")};
  pod.at_s = static_cast<std::int64_t>(view["at_s"].number().value_or(0));
  if (pod.name.empty() || pod.container.empty() || pod.original.requests.empty()) return std::nullopt;
  return pod;
}

}  // namespace

std::optional<double> amount_of(const std::map<std::string, std::string>& sizes, const std::string& resource) {
  const auto found = sizes.find(resource);
  return found == sizes.end() ? std::nullopt : parse::quantity(found->second);
}

std::string quantity_text(const std::string& resource, double amount) {
  constexpr double kMost = 9e18;  // in the range of the integer
  const double units = resource == "cpu" ? amount * kMilliPerUnit : amount / kBytesPerMiB;
  return std::to_string(static_cast<long long>(std::ceil(std::min(units, kMost) - 1e-6))) +
         (resource == "cpu" ? "m" : "Mi");
}

Sizes Sizes::of(const View& resources) {
  Sizes sizes;
  for (const char* resource : kResizable) {
    if (resources["requests"][resource].present()) sizes.requests[resource] = resources["requests"][resource].any();
    if (resources["limits"][resource].present()) sizes.limits[resource] = resources["limits"][resource].any();
  }
  return sizes;
}

bool Sizes::same_as(const Sizes& other) const {
  return same_amounts(requests, other.requests) && same_amounts(limits, other.limits);
}

Sizes Sizes::changed_from(const Sizes& other) const {
  Sizes changed;
  for (const auto& [resource, amount] : requests)
    if (amount_of(other.requests, resource) != parse::quantity(amount)) changed.requests[resource] = amount;
  return changed;
}

std::string Sizes::text() const {
  std::string text;
  for (const auto& [resource, amount] : requests) text += (text.empty() ? "" : ", ") + resource + " " + amount;
  return text.empty() ? "nothing" : text;
}

Result<RequestRecord> read_record(const Json& config_map) {
  RequestRecord record;
  for (const auto& [key, value] : View(config_map)["data"].members()) {
    const Json json = Json::read(value.text_or(""), {.text_bytes = 1 << 20, .built_bytes = 16 << 20});
    const auto wrong = [&, key = key] {
      return fail(Errc::malformed, std::string("ConfigMap ") + kRecordName, "its key " + key + " cannot be read",
                  "fix or remove the key; removing it discards its records");
    };
    if (key.starts_with(kPodPrefix)) {
      auto pod = read_pod_record(json);
      if (!pod) return wrong();
      record.pods[key.substr(std::string(kPodPrefix).size())] = std::move(*pod);
    } else if (key == "held") {
      if (!json.is_array()) return wrong();
      for (const View& workload : View(json).items()) record.held.insert(workload.text_or(""));
    } else if (key == "said") {
      if (!json.is_object()) return wrong();
      for (const auto& [workload, said] : View(json).members())
        record.said[workload] = {said["state"].text_or(""), said["why"].text_or("")};
    }
  }
  return record;
}

Json record_data(const RequestRecord& record) {
  Json data = Json::object();
  for (const auto& [uid, pod] : record.pods) data[kPodPrefix + uid] = pod_json(pod).dump();
  if (!record.held.empty()) data["held"] = Json(record.held).dump();
  Json said = Json::object();
  for (const auto& [workload, one] : record.said) said[workload] = {{"state", one.state}, {"why", one.why}};
  if (!said.empty()) data["said"] = said.dump();
  return data;
}

}  // namespace wattle::cli
