// yaml_tree: YAML of any shape as JSON values: files that other programs define (a kubeconfig, a scheduler's configuration, a chart's
//            values). Our own configuration is read by common/config, which is strict about its keys.
// Format   plain scalars by YAML 1.2's core schema, quoted ones are text; every document of a stream
// Errors   malformed (no YAML; a key that is no scalar, or there twice), out_of_range (deeper than 64, or more than 200,000 values once
//          aliases are followed)
// Threads  pure
#pragma once

#include <string>
#include <vector>

#include "common/json/value.hpp"
#include "common/result.hpp"

namespace wattle {

// `name` stands for the file in errors.
Result<std::vector<OrderedJson>> parse_yaml(const std::string& text, const std::string& name);
Result<std::vector<OrderedJson>> load_yaml(const std::string& path);

}  // namespace wattle
