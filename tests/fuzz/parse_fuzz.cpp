// Numbers with units are finite and not negative, or absent; printable text is UTF-8 and idempotent.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "common/parse.hpp"
#include "common/printable.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wattle::parse;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto value : {quantity(text), duration_s(text)})
    if (value && !(*value >= 0 && std::isfinite(*value))) std::abort();
  if (const auto value = real(text); value && !std::isfinite(*value)) std::abort();
  std::size_t length = 0;
  for (const auto word : fields(text)) {
    if (word.empty()) std::abort();
    length += word.size();
  }
  if (length > text.size() || trim(text).size() > text.size()) std::abort();
  length = 0;
  for (const auto part : split(text, ',')) length += part.size() + 1;
  if (length != text.size() + 1) std::abort();
  (void)keyed_u64(text, "usage_usec");
  const std::string shown = wattle::printable_lines(text);
  if (!is_utf8(shown) || wattle::printable_lines(shown) != shown) std::abort();
  return 0;
}
