#include "common/psi.hpp"

#include <algorithm>
#include <cmath>

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

double waiting_share(double some_ratio, double throttled_cores, double used_cores) {
  const double some = std::isfinite(some_ratio) ? std::clamp(some_ratio, 0.0, 1.0) : 0.0;
  if (!(throttled_cores > 0) || !std::isfinite(throttled_cores)) return some;
  const double used = std::isfinite(used_cores) ? std::max(0.0, used_cores) : 0.0;
  return std::max(0.0, some - throttled_cores / std::max(1.0, used + throttled_cores));
}

}  // namespace wattle
