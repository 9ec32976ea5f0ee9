// yaml: a JSON value as YAML that 1.1 and 1.2 readers take for the same value.
// Errors   none: every JSON value has a YAML text; bytes that are no UTF-8 become U+FFFD
// Threads  any
#pragma once

#include <string>
#include <string_view>

#include "common/json/value.hpp"

namespace wattle::cli {

// Ends with a newline. Block style; keys in their order.
std::string to_yaml(const OrderedJson& value);
// As a plain scalar where no reader could take it for something else, else in double quotes.
std::string yaml_text(std::string_view text);

}  // namespace wattle::cli
