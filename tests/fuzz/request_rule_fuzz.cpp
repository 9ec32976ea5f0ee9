// Packed request rules: any bytes load or leave a working rule; suggestions are numbers, and a rule survives a round
// trip.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "provision/requests/request_rule.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wattle::placement;
  const auto sound = [](std::optional<double> value) {
    if (value && !(std::isfinite(*value) && *value >= 0)) std::abort();
  };
  RequestRule rule;
  PackReader in(std::string_view(reinterpret_cast<const char*>(data), size));
  rule.unpack(in);
  PackWriter out;
  rule.pack(out);
  const std::string bytes = out.take();
  RequestRule again;
  PackReader back(bytes);
  again.unpack(back);
  if (!back.done()) std::abort();
  PackWriter same;
  again.pack(same);
  if (same.take() != bytes) std::abort();
  for (double now_s = 1e9; now_s < 1e9 + 7200; now_s += 60) {
    rule.add_cpu(0.5, 60, now_s);
    rule.add_memory(1e8, now_s);
    rule.look({1, 1e9}, now_s);
  }
  sound(rule.cpu_cores());
  sound(rule.memory_bytes());
  sound(rule.wanted_cores());
  sound(rule.wanted_bytes());
  if (!(rule.raise_needs_s() >= 0 && rule.lower_needs_s() >= 0)) std::abort();
  return 0;
}
