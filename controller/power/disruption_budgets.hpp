// disruption_budgets: the PodDisruptionBudgets of the API server that allow no eviction now.
// Source   list of /apis/policy/v1/poddisruptionbudgets
// Rules    the plan avoids their pods. The API server enforces every budget at each eviction, including budgets that
//          this list does not show yet
// Errors   not a list, or one that is too large: malformed, out_of_range
// Threads  values
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/result.hpp"

namespace wattle::controller::power {

struct DisruptionBudget {
  // A requirement of the selector, as in matchExpressions. A label of matchLabels is an In with one value.
  struct Term {
    enum class Kind { in, not_in, exists, absent };
    std::string key;
    Kind kind = Kind::exists;
    std::vector<std::string> values;
  };
  std::string name_space, name;
  std::vector<Term> terms;  // all apply; none: every pod of the namespace
  // `labels`: as kube::Pod::labels.
  bool covers(std::string_view pod_namespace, std::string_view labels) const;
};

struct BudgetPage {
  std::vector<DisruptionBudget> unsatisfied;
  std::string next;  // `continue` of the next page; empty: the last page
};

Result<BudgetPage> parse_budgets(const std::string& body);

}  // namespace wattle::controller::power
