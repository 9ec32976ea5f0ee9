#include "controller/power/disruption_budgets.hpp"

#include <algorithm>
#include <optional>

#include "common/json/value.hpp"

namespace wattle::controller::power {
namespace {

using json = SortedJson;

constexpr JsonLimits kBudgetLimits{32 << 20, 256 << 20};

const json& budget_field(const json& object, const char* key) {
  static const json kNone;
  if (!object.is_object()) return kNone;
  const auto found = object.find(key);
  return found == object.end() ? kNone : *found;
}

std::string budget_text(const json& value) { return value.is_string() ? value.get<std::string>() : std::string(); }

std::optional<std::string_view> label_of(std::string_view labels, std::string_view key) {
  while (!labels.empty()) {
    const std::string_view one = labels.substr(0, labels.find(','));
    labels.remove_prefix(one.size() + (one.size() < labels.size() ? 1 : 0));
    if (one.size() > key.size() && one.starts_with(key) && one[key.size()] == '=') return one.substr(key.size() + 1);
  }
  return std::nullopt;
}

bool term_holds(const DisruptionBudget::Term& term, std::string_view labels) {
  const auto value = label_of(labels, term.key);
  const bool listed = value && std::find(term.values.begin(), term.values.end(), *value) != term.values.end();
  switch (term.kind) {
    case DisruptionBudget::Term::Kind::in:
      return listed;
    case DisruptionBudget::Term::Kind::not_in:
      return !listed;
    case DisruptionBudget::Term::Kind::exists:
      return value.has_value();
    case DisruptionBudget::Term::Kind::absent:
      return !value;
  }
  return false;
}

std::vector<DisruptionBudget::Term> terms_of(const json& selector) {
  std::vector<DisruptionBudget::Term> terms;
  const json& labels = budget_field(selector, "matchLabels");
  if (labels.is_object())
    for (const auto& [key, value] : labels.items())
      terms.push_back({key, DisruptionBudget::Term::Kind::in, {budget_text(value)}});
  const json& expressions = budget_field(selector, "matchExpressions");
  if (!expressions.is_array()) return terms;
  for (const json& each : expressions) {
    const std::string kind = budget_text(budget_field(each, "operator"));
    if (kind != "In" && kind != "NotIn" && kind != "Exists" && kind != "DoesNotExist") continue;
    DisruptionBudget::Term term{budget_text(budget_field(each, "key")), DisruptionBudget::Term::Kind::exists, {}};
    if (kind == "In") term.kind = DisruptionBudget::Term::Kind::in;
    if (kind == "NotIn") term.kind = DisruptionBudget::Term::Kind::not_in;
    if (kind == "DoesNotExist") term.kind = DisruptionBudget::Term::Kind::absent;
    if (budget_field(each, "values").is_array())
      for (const json& value : budget_field(each, "values")) term.values.push_back(budget_text(value));
    terms.push_back(std::move(term));
  }
  return terms;
}

}  // namespace

bool DisruptionBudget::covers(std::string_view pod_namespace, std::string_view labels) const {
  return pod_namespace == name_space &&
         std::all_of(terms.begin(), terms.end(),
                     [&](const DisruptionBudget::Term& term) { return term_holds(term, labels); });
}

Result<BudgetPage> parse_budgets(const std::string& body) {
  WATTLE_TRY(const json list, json::parse(body, kBudgetLimits, "PodDisruptionBudgets"));
  const json& items = budget_field(list, "items");
  // An empty list may be written as null.
  if (!list.is_object() || !list.contains("items") || !(items.is_array() || items.is_null()))
    return fail(Errc::malformed, "PodDisruptionBudgets", "the answer has no list of items");
  BudgetPage page;
  page.next = budget_text(budget_field(budget_field(list, "metadata"), "continue"));
  for (const json& item : items) {
    const json& allowed = budget_field(budget_field(item, "status"), "disruptionsAllowed");
    if (allowed.is_number() && allowed.get<double>() > 0) continue;
    const json& selector = budget_field(budget_field(item, "spec"), "selector");
    if (!selector.is_object()) continue;  // without a selector, a budget covers no pod
    const json& metadata = budget_field(item, "metadata");
    page.unsatisfied.push_back({budget_text(budget_field(metadata, "namespace")),
                                budget_text(budget_field(metadata, "name")), terms_of(selector)});
  }
  return page;
}

}  // namespace wattle::controller::power
