#include "shim/preemption.hpp"

#include <unordered_set>

#include "common/json/value.hpp"

namespace wattle::shim {
namespace {

// {"Pods":[<v1.Pod>],"NumPDBViolations":1} -> {"Pods":[{"UID":"..."}],"NumPDBViolations":1}
std::string meta_of(std::string_view victims) {
  std::string out = "{\"Pods\":[";
  for (const std::string_view pod : raw_items(raw_member(victims, "Pods").value_or("[]"))) {
    const auto metadata = raw_member(pod, "metadata");
    const auto uid = metadata ? raw_member(*metadata, "uid") : std::nullopt;
    if (!uid) continue;
    if (out.back() != '[') out += ',';
    out += "{\"UID\":";
    out += *uid;
    out += '}';
  }
  out += "],\"NumPDBViolations\":";
  out += raw_member(victims, "NumPDBViolations").value_or("0");
  return out + "}";
}

// Builds the same ask as for the verb filter.
std::optional<PodAsk> ask_of(std::string_view pod, std::span<const std::string> nodes) {
  std::string args = "{\"Pod\":";
  args += pod;
  args += ",\"NodeNames\":[";
  for (const std::string& node : nodes) {
    if (args.back() != '[') args += ',';
    append_text(args, node);
  }
  auto ask = parse_extender_args(args + "]}");
  if (!ask) return std::nullopt;
  return std::move(*ask);
}

}  // namespace

Result<Preemption> parse_preemption_args(std::string_view text) {
  // Checks the syntax without building values.
  const auto nothing = [](std::size_t, std::string_view) { return false; };
  if (SortedJson::read(text, {.text_bytes = 32 << 20, .built_bytes = 1 << 20}, nothing).is_discarded())
    return fail(Errc::malformed, "request body", "is not JSON", "send ExtenderPreemptionArgs");
  const auto meta = raw_member(text, "NodeNameToMetaVictims"), whole = raw_member(text, "NodeNameToVictims");
  if (!meta && !whole)
    return fail(Errc::malformed, "NodeNameToMetaVictims", "is missing", "send ExtenderPreemptionArgs");
  Preemption out;
  out.whole_pods = !meta;
  const std::string_view map = meta ? *meta : *whole;
  if (!map.starts_with("{"))
    return fail(Errc::malformed, meta ? "NodeNameToMetaVictims" : "NodeNameToVictims", "is not an object",
                "send ExtenderPreemptionArgs");
  for (const RawMember& node : raw_members(map)) {
    if (!node.value.starts_with("{")) continue;  // a node without victims (null) is not a candidate
    out.nodes.push_back(node.name);
    out.meta_victims.push_back(meta ? std::string(node.value) : meta_of(node.value));
  }
  if (const auto pod = raw_member(text, "Pod")) out.ask = ask_of(*pod, out.nodes);
  return out;
}

std::string format_preemption(const Preemption& preemption, std::span<const std::string> kept) {
  const std::unordered_set<std::string_view> keep(kept.begin(), kept.end());
  std::string out = "{\"NodeNameToMetaVictims\":{";
  for (std::size_t i = 0; i < preemption.nodes.size(); ++i) {
    if (!keep.contains(preemption.nodes[i])) continue;
    if (out.back() != '{') out += ',';
    append_text(out, preemption.nodes[i]);
    out += ':';
    out += preemption.meta_victims[i];
  }
  return out + "}}";
}

}  // namespace wattle::shim
