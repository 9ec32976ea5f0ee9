// HTTP targets and URLs: any bytes parse or give an error; a decoded target survives a round trip. After a host they
// parse as a URL or give an error, and a URL's target contains no line end.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "common/http/target.hpp"
#include "common/http/url.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wattle::http;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  if (const auto url = parse_url("http://" + bytes, ""))
    if (url->origin.host.empty() || url->origin.port == 0 || !url->target.starts_with('/') ||
        url->target.find_first_of("\r\n ") != std::string::npos)
      std::abort();
  const auto target = parse_target(bytes);
  if (!target) return 0;
  std::string text = "/" + percent_encode(target->path.substr(1)) + "?";
  for (const auto& [key, value] : target->query) text += percent_encode(key) + "=" + percent_encode(value) + "&";
  const auto again = parse_target(text);
  if (!again || again->path != target->path || again->query != target->query) std::abort();
  return 0;
}
