#include "common/kube/mirror_claim.hpp"

#include "common/kube/json.hpp"

namespace wattle::kube {
namespace {

using json = SortedJson;

constexpr const char* kMirror = "kubernetes.io/config.mirror";
constexpr const char* kSource = "kubernetes.io/config.source";

// Reference to the Node that controls the pod and to which the pod is bound; null if there is none.
const json& node_reference(const json& pod) {
  static const json kNone;
  const std::string node = text_of(member(pod, "spec"), "nodeName");
  const json& owners = member(member(pod, "metadata"), "ownerReferences");
  if (node.empty() || !owners.is_array()) return kNone;
  for (const json& owner : owners)
    if (member(owner, "controller") == true && text_of(owner, "kind") == "Node" && text_of(owner, "name") == node)
      return owner;
  return kNone;
}

}  // namespace

MirrorClaim read_mirror_claim(const json& pod) {
  const json& metadata = member(pod, "metadata");
  const json& annotations = member(metadata, "annotations");
  const std::string uid = text_of(annotations, kMirror);
  const json& node = node_reference(pod);
  if (uid.empty() || uid.size() > kMaxNameBytes || text_of(annotations, kSource) == "api" || node.is_null()) return {};
  return {uid, text_of(node, "uid"), text_of(metadata, "creationTimestamp")};
}

bool is_controlled_by_its_node(const json& pod) { return !node_reference(pod).is_null(); }

}  // namespace wattle::kube
