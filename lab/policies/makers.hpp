// makers: factory functions of the lab's policies, for their list and the files that define them.
// Errors   none
// Threads  any
#pragma once

#include <memory>

#include "placement/decide/policies/policy.hpp"

namespace wattle::placement {

using MadePolicy = std::unique_ptr<Policy>;

MadePolicy make_peaks(const PolicyInfo& info, const NetworkOptions& options);
MadePolicy make_empty_node(const PolicyInfo& info, const NetworkOptions& options);
MadePolicy make_target_load_packing(const PolicyInfo& info, const NetworkOptions& options);
MadePolicy make_lvrb(const PolicyInfo& info, const NetworkOptions& options);
MadePolicy make_koordinator(const PolicyInfo& info, const NetworkOptions& options);

}  // namespace wattle::placement
