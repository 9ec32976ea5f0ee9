#include "common/kube/node_terms.hpp"

#include "common/kube/json.hpp"

namespace wattle::kube {
namespace {

using json = SortedJson;

constexpr std::size_t kMaxBytes = 1 << 20;  // an API server takes no larger pod

void add(std::string& selector, const std::string& requirement) {
  if (!selector.empty()) selector += ',';
  selector += requirement;
}

// A node never matches both.
constexpr const char* kNoNode = "none,!none";

// Empty if it cannot be expressed as a requirement.
std::string requirement_of(const json& expression) {
  const std::string key = text_of(expression, "key"), how = text_of(expression, "operator");
  if (key.empty()) return {};
  if (how == "Exists") return key;
  if (how == "DoesNotExist") return "!" + key;
  const json& values = member(expression, "values");
  if (!values.is_array()) return {};
  if (how == "Gt" || how == "Lt")
    return values.size() == 1 && values.front().is_string() ? key + (how == "Gt" ? ">" : "<") + values.front().string()
                                                            : std::string();
  if (how != "In" && how != "NotIn") return {};
  std::string list;
  for (const json& value : values)
    if (value.is_string()) add(list, value.string());
  return key + (how == "In" ? " in (" : " notin (") + list + ")";
}

// A term without requirements matches no node.
bool is_empty(const json& term) {
  for (const char* kind : {"matchExpressions", "matchFields"})
    if (const json& list = member(term, kind); list.is_array() && !list.empty()) return false;
  return true;
}

std::string selector_of(const json& term, std::string selector) {
  for (const char* kind : {"matchExpressions", "matchFields"}) {
    const json& expressions = member(term, kind);
    if (!expressions.is_array()) continue;
    for (const json& expression : expressions)
      if (const std::string one = requirement_of(expression); !one.empty()) add(selector, one);
  }
  return selector;
}

}  // namespace

std::vector<std::string> read_node_terms(const json& spec) {
  std::string all;  // requirements of all terms
  const json& labels = member(spec, "nodeSelector");
  if (labels.is_object())
    for (const auto& [key, value] : labels.items())
      if (value.is_string()) add(all, key + "=" + value.string());
  std::vector<std::string> out;
  const json& affinity = member(member(spec, "affinity"), "nodeAffinity");
  const json& terms = member(member(affinity, "requiredDuringSchedulingIgnoredDuringExecution"), "nodeSelectorTerms");
  if (terms.is_array())
    for (const json& term : terms)
      if (!is_empty(term)) out.push_back(selector_of(term, all));
  if (out.empty() && terms.is_array() && !terms.empty()) return {kNoNode};
  if (out.empty()) out.push_back(all);
  std::size_t bytes = 0;
  for (const std::string& one : out) {
    bytes += one.size();
    if (one.empty() || bytes > kMaxBytes) return {};
  }
  return out;
}

}  // namespace wattle::kube
