// expression: an operator's own reward: a formula of the unweighted terms of `weighted` (docs/reference/rewards.md).
// Language muParser's: numbers, + - * / ^, comparisons, && ||, ?:, min max sum avg abs sqrt exp ln tanh and the like;
//          no assignment. Compiled once, when it is set
// Bounds   kMaxFormulaLength characters; values are clipped to +-kFormulaLimit
// Errors   compile: malformed, with the unknown term or the position; out_of_range if terms within their ranges give a
//          value that is not finite, with their names
// Threads  any: copies share the compiled formula; evaluations are serialised
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "common/result.hpp"

namespace wattle::placement {

struct FormulaTerm {
  std::string_view name;
  double low = 0, high = 0;  // docs/reference/rewards.md
};
inline constexpr std::array<FormulaTerm, 7> kFormulaTerms{{
    {"energy", -10, 10},
    {"latency", -1, 1},
    {"balance", -3, 0},
    {"active_nodes", -1, 0},
    {"packing", 0, 1},
    {"contention", -1, 0},
    {"failure", -1, 0},
}};
using FormulaValues = std::array<double, kFormulaTerms.size()>;  // in that order; 0: not measured

inline constexpr std::size_t kMaxFormulaLength = 1000;
inline constexpr double kFormulaLimit = 100;

class Formula {
 public:
  Formula() = default;  // empty: every value is 0
  static Result<Formula> compile(const std::string& text);

  const std::string& text() const;
  bool empty() const { return compiled_ == nullptr; }
  // Returns a finite value within the limit; 0 if the formula's value is not finite.
  double operator()(const FormulaValues& terms) const;
  bool operator==(const Formula& other) const { return text() == other.text(); }

 private:
  struct Compiled;
  std::shared_ptr<Compiled> compiled_;
};

}  // namespace wattle::placement
