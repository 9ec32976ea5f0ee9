// node_labels: merges the labels of a node from its agent's configuration and from the API server.
// Rank     a label at the API server replaces the agent's of the same key, because operators change it while both run
// Errors   none
// Threads  pure function
#pragma once

#include <map>
#include <string>

namespace wattle::controller {

struct Node;

std::map<std::string, std::string> labels_of(const Node& node);

}  // namespace wattle::controller
