#include "placement/expression.hpp"

#include <muParser.h>

#include <algorithm>
#include <cmath>
#include <mutex>

namespace wattle::placement {

struct Formula::Compiled {
  std::string text;
  std::mutex mutex;  // guards all members below: the parser reads the values in place
  FormulaValues values{};
  mu::Parser parser;

  double evaluate(const FormulaValues& terms) {
    const std::lock_guard lock(mutex);
    values = terms;
    try {
      return parser.Eval();
    } catch (const mu::ParserError&) {
      return std::nan("");
    }
  }
};

namespace {

const std::string kSubject = "reward expression";

std::string term_names() {
  std::string names;
  for (const FormulaTerm& term : kFormulaTerms) names += (names.empty() ? "" : ", ") + std::string(term.name);
  return names;
}

// Rejects assignments and quoted text, which muParser would accept.
Status check_text(const std::string& text) {
  if (text.empty()) return fail(Errc::malformed, kSubject, "is empty", "use a formula of " + term_names());
  if (text.size() > kMaxFormulaLength)
    return fail(Errc::out_of_range, kSubject, "has " + std::to_string(text.size()) + " characters",
                "use at most " + std::to_string(kMaxFormulaLength));
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c < ' ' || c > '~' || c == '"' || c == '\'')
      return fail(Errc::malformed, kSubject, "contains an invalid character at " + std::to_string(i + 1));
    const bool compares = (i > 0 && std::string_view("=<>!").find(text[i - 1]) != std::string_view::npos) ||
                          (i + 1 < text.size() && text[i + 1] == '=');
    if (c == '=' && !compares)
      return fail(Errc::malformed, kSubject, "contains an assignment at " + std::to_string(i + 1),
                  "compare with ==, or remove it");
  }
  return {};
}

Error error_of(const mu::ParserError& error) {
  const std::string token = error.GetToken();
  if (error.GetCode() == mu::ecUNASSIGNABLE_TOKEN)
    return {Errc::malformed, kSubject, "'" + token + "' is not a term", "use one of " + term_names()};
  std::string what = error.GetMsg();
  while (!what.empty() && (what.back() == '.' || what.back() == '\n')) what.pop_back();
  return {Errc::malformed, kSubject, what, "use a formula of " + term_names()};
}

}  // namespace

Result<Formula> Formula::compile(const std::string& text) {
  WATTLE_CHECK(check_text(text));
  Formula formula;
  formula.compiled_ = std::make_shared<Compiled>();
  Compiled& compiled = *formula.compiled_;
  compiled.text = text;
  try {
    for (std::size_t i = 0; i < kFormulaTerms.size(); ++i)
      compiled.parser.DefineVar(std::string(kFormulaTerms[i].name), &compiled.values[i]);
    compiled.parser.SetExpr(text);
    (void)compiled.parser.Eval();
    if (compiled.parser.GetNumResults() != 1)
      return fail(Errc::malformed, kSubject, "returns several values",
                  "use one formula without commas between expressions");
    if (compiled.parser.GetUsedVar().empty())
      return fail(Errc::malformed, kSubject, "contains no term, so all placements would be equal",
                  "use a formula of " + term_names());
  } catch (const mu::ParserError& error) {
    return tl::unexpected(error_of(error));
  }
  // Checks no measurement, then each term alone across its range, then all terms together.
  const auto sound = [&](const FormulaValues& values) { return std::isfinite(compiled.evaluate(values)); };
  if (!sound({}))
    return fail(Errc::out_of_range, kSubject, "is not a number if every term is 0",
                "it must be finite without measurements");
  for (const double share : {0.0, 0.25, 0.5, 0.75, 1.0}) {
    FormulaValues all{};
    for (std::size_t i = 0; i < kFormulaTerms.size(); ++i) {
      const FormulaTerm& term = kFormulaTerms[i];
      FormulaValues alone{};
      alone[i] = all[i] = term.low + share * (term.high - term.low);
      if (!sound(alone))
        return fail(Errc::out_of_range, kSubject,
                    "is not a number if " + std::string(term.name) + " is " + std::to_string(alone[i]),
                    "it must be finite over the ranges of all terms");
    }
    if (!sound(all))
      return fail(Errc::out_of_range, kSubject, "is not a number if several terms are at the ends of their ranges",
                  "it must be finite over the ranges of all terms");
  }
  return formula;
}

const std::string& Formula::text() const {
  static const std::string kNone;
  return compiled_ ? compiled_->text : kNone;
}

double Formula::operator()(const FormulaValues& terms) const {
  if (!compiled_) return 0;
  const double value = compiled_->evaluate(terms);
  return std::isfinite(value) ? std::clamp(value, -kFormulaLimit, kFormulaLimit) : 0.0;
}

}  // namespace wattle::placement
