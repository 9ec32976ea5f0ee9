// Templates of -o jsonpath: any text parses or is refused, and prints no control character of the document.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "cli/json_template.hpp"

using namespace wattle;
using namespace wattle::cli;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static const OrderedJson document = OrderedJson::parse(
      R"({"nodes":[{"name":"a\u001b","up":true,"w":61.5,"psi":{"cpu":0.1}},{"name":"b","up":false,"w":null}],"n":2})");
  const auto parsed = JsonTemplate::parse(text);
  if (!parsed) {
    if (parsed.error().what.empty() || parsed.error().fix.empty()) std::abort();
    return 0;
  }
  const auto printed = parsed->text_of(document);
  if (printed && text.find('\x1b') == std::string_view::npos && printed->find('\x1b') != std::string::npos)
    std::abort();
  return 0;
}
