#include "common/psi.hpp"

#include "common/parse.hpp"

namespace wattle {

PsiTotals parse_psi(std::string_view text) {
  PsiTotals totals;
  parse::for_each_line(text, [&](std::string_view line) {
    const bool some = line.starts_with("some "), full = line.starts_with("full ");
    const auto at = line.rfind(" total=");
    if ((!some && !full) || at == std::string_view::npos) return;
    (some ? totals.some_us : totals.full_us) = parse::u64(line.substr(at + 7));
  });
  return totals;
}

}  // namespace wattle
