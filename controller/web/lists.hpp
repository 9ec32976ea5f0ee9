// lists: builds the documents `nodes`, `pods` and `pod`: the requested part of a sorted list, for clusters of any size.
// Bounds   sorts only the requested part: a page of thousands costs one walk and one page
// Errors   malformed (argument), not_found (node, pod)
// Threads  the owner of the parts
#pragma once

#include <string>

#include "common/result.hpp"
#include "controller/parts.hpp"
#include "controller/state/cluster_state.hpp"
#include "controller/steps.hpp"
#include "controller/web/arguments.hpp"

namespace wattle::controller {

Result<const Node*> named_node(const Parts& from, const std::string& name);
Document nodes_text(const Parts& from, const Arguments& arguments);
Document pods_text(const Parts& from, const Arguments& arguments);
// Describes one pod with its containers; `pod`: its UID, its name or NAMESPACE/NAME.
Result<std::string> pod_text(const Parts& from, const Arguments& arguments);

}  // namespace wattle::controller
