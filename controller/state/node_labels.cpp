#include "controller/state/node_labels.hpp"

#include "controller/state/cluster_state.hpp"

namespace wattle::controller {

std::map<std::string, std::string> labels_of(const Node& node) {
  if (node.kube == nullptr) return node.hello.labels;
  std::map<std::string, std::string> labels = node.kube->labels;
  labels.insert(node.hello.labels.begin(), node.hello.labels.end());
  return labels;
}

}  // namespace wattle::controller
