// Expressions: any text parses or gives a named error; the value of an expression is finite and bounded for all terms.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>

#include "placement/worth/expression.hpp"

using namespace wattle::placement;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto formula = Formula::compile(text);
  if (!formula) {
    if (formula.error().what.empty()) std::abort();
    return 0;
  }
  if (formula->text() != text) std::abort();
  for (const double each : {0.0, -1.0, 1.0, 1e300, -1e300, std::numeric_limits<double>::quiet_NaN(),
                            std::numeric_limits<double>::infinity()}) {
    FormulaValues values;
    values.fill(each);
    const double value = (*formula)(values);
    if (!(std::abs(value) <= kFormulaLimit)) std::abort();
  }
  return 0;
}
