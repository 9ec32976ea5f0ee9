// yaml: formats a JSON value as YAML that 1.1 and 1.2 readers parse to the same value.
// Errors   none: every JSON value has a YAML text; bytes that are not UTF-8 become U+FFFD
// Threads  any
#pragma once

#include <string>
#include <string_view>

#include "common/json/value.hpp"

namespace wattle::cli {

// Block style with keys in their order; ends with a newline.
std::string to_yaml(const OrderedJson& value);
// Returns a plain scalar if no reader can misinterpret it, otherwise double quotes.
std::string yaml_text(std::string_view text);

}  // namespace wattle::cli
