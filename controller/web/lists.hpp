// lists: the documents `nodes`, `pods` and `pod`: what is asked for of them, sorted, whatever the cluster's size.
// Bounds   what is sorted is what is given: a page of thousands costs one walk and a page
// Errors   malformed (argument), not_found (node, pod)
// Threads  the owner of the sources
#pragma once

#include <map>
#include <string>

#include "common/result.hpp"
#include "controller/web/sources.hpp"

namespace wattle::controller {

Result<const Node*> named_node(const Sources& from, const std::string& name);
Result<std::string> nodes_text(const Sources& from, const std::map<std::string, std::string>& arguments);
Result<std::string> pods_text(const Sources& from, const std::map<std::string, std::string>& arguments);
// One with its containers; `pod`: its UID, its name or NAMESPACE/NAME.
Result<std::string> pod_text(const Sources& from, const std::map<std::string, std::string>& arguments);

}  // namespace wattle::controller
