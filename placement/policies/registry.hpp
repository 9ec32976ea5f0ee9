// registry: all policies by name; the names are the same in configuration, command lines, API, records and reports. A
// new policy is a file and a row here (docs/how-to/extend.md).
// Errors   not_found, with the names
// Threads  any
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "common/result.hpp"
#include "placement/policies/policy.hpp"

namespace wattle::placement {

std::span<const PolicyInfo> policies();
Result<PolicyInfo> parse_policy(std::string_view name);
Result<std::unique_ptr<Policy>> make_policy(std::string_view name, const NetworkOptions& options = {});

}  // namespace wattle::placement
