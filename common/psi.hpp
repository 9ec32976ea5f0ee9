// psi: one file of pressure stall information.
// Source   /proc/pressure/*, <cgroup>/*.pressure
// Units    us, cumulative
// Errors   what the file does not say is absent
// Threads  pure
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace wattle {

struct PsiTotals {
  std::optional<std::uint64_t> some_us;
  std::optional<std::uint64_t> full_us;
};

PsiTotals parse_psi(std::string_view text);

}  // namespace wattle
