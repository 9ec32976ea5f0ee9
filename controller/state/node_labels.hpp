// node_labels: the labels of a node, as its agent's configuration and the API server give them.
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
