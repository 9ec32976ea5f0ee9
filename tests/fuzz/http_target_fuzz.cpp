// Any bytes are a request target or a mistake; what was decoded can be written and read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "common/http/target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wattle::http;
  const auto target = parse_target({reinterpret_cast<const char*>(data), size});
  if (!target) return 0;
  std::string text = "/" + percent_encode(target->path.substr(1)) + "?";
  for (const auto& [key, value] : target->query) text += percent_encode(key) + "=" + percent_encode(value) + "&";
  const auto again = parse_target(text);
  if (!again || again->path != target->path || again->query != target->query) std::abort();
  return 0;
}
