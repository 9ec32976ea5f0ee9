// YAML: any text parses or gives an error with the reason; a parsed tree can be written as JSON.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "common/json/value.hpp"
#include "common/yaml_tree.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto read = wattle::parse_yaml(text, "fuzz");
  if (!read) {
    if (read.error().what.empty()) std::abort();
    return 0;
  }
  for (const auto& document : *read)
    if (document.dump(-1, wattle::JsonText::ascii).empty()) std::abort();
  return 0;
}
