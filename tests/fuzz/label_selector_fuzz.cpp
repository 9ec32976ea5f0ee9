// Label selectors: any text parses or is refused, and a parsed selector is deterministic.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "common/kube/label_selector.hpp"

using namespace wattle;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto parsed = kube::LabelSelector::parse({reinterpret_cast<const char*>(data), size}, "selector");
  if (!parsed) {
    if (parsed.error().what.empty() || parsed.error().fix.empty()) std::abort();
    return 0;
  }
  const std::map<std::string, std::string> labels{{"zone", "a"}, {"gpu", ""}};
  if (parsed->matches(labels) != parsed->matches(labels)) std::abort();
  if (parsed->empty() && !parsed->matches({})) std::abort();
  return 0;
}
