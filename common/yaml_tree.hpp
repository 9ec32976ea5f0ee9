// yaml_tree: reads YAML of any shape as JSON values, for files that other programs define (a kubeconfig, a scheduler's
// configuration, a chart's values). common/config reads our own configuration, and is strict about its keys.
// Format   plain scalars follow YAML 1.2's core schema, quoted ones are text; reads every document of a stream
// Errors   malformed (not YAML; a key that is not a scalar, or is duplicated), out_of_range (nesting deeper than 64, or
//          more than 200,000 values after expanding aliases)
// Threads  pure
#pragma once

#include <string>
#include <vector>

#include "common/json/value.hpp"
#include "common/result.hpp"

namespace wattle {

// `name`: name of the file in errors.
Result<std::vector<OrderedJson>> parse_yaml(const std::string& text, const std::string& name);
Result<std::vector<OrderedJson>> load_yaml(const std::string& path);

}  // namespace wattle
