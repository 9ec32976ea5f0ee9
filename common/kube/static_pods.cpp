#include "common/kube/static_pods.hpp"

#include <algorithm>

namespace wattle::kube {

std::set<std::string> StaticPods::learn(const std::vector<Change<Node>>& nodes) {
  std::unordered_set<std::string> changed;
  for (const Change<Node>& change : nodes) {
    const std::string uid = change.now ? change.now->uid : std::string();
    const auto known = node_uids_.find(change.key);
    if (change.now && (known == node_uids_.end() || known->second != uid)) {
      node_uids_[change.key] = uid;
      changed.insert(change.key);
    } else if (!change.now && known != node_uids_.end()) {
      node_uids_.erase(known);
      changed.insert(change.key);
    }
  }
  std::set<std::string> concerned;
  if (changed.empty()) return concerned;
  for (const auto& [uid, mirror] : mirrors_)
    if (changed.contains(mirror.pod->node_name)) concerned.insert(mirror.pod->mirror.uid);
  return concerned;
}

void StaticPods::remember(const std::string& former) {
  if (!former_.insert(former).second) return;
  former_in_order_.push_back(former);
  if (former_in_order_.size() <= kFormerUids) return;
  former_.erase(former_in_order_.front());
  former_in_order_.pop_front();
}

void StaticPods::recall(const std::string& uid, const std::string& pod_namespace) {
  if (recalled_.size() < kFormerUids) recalled_.emplace(uid, pod_namespace);
}

std::string StaticPods::holder(const std::string& claimed) const {
  const auto claims = claims_.find(claimed);
  if (claims == claims_.end() || given_.contains(claimed) || former_.contains(claimed)) return "";
  const auto recalled = recalled_.find(claimed);
  for (const auto& [created, uid] : claims->second) {
    const Pod& pod = *mirrors_.at(uid).pod;
    if (recalled != recalled_.end() && recalled->second != pod.pod_namespace) continue;
    const auto node = node_uids_.find(pod.node_name);
    if (node != node_uids_.end() && node->second == pod.mirror.node_uid) return uid;
  }
  return "";
}

// Adds to `changed` the mirror pods, by their UIDs from the API server, whose change is to be returned.
void StaticPods::grant(const std::string& claimed, std::set<std::string>& changed, ResolvedPods& out) {
  const auto claims = claims_.find(claimed);
  if (claims == claims_.end()) return;
  const std::string holds = holder(claimed);
  for (const auto& [created, uid] : claims->second) {
    Mirror& mirror = mirrors_.at(uid);
    const bool granted = uid == holds;
    if (granted == mirror.granted) continue;
    if (mirror.shown) out.released.push_back(mirror.granted ? claimed : uid);
    mirror.granted = granted;
    changed.insert(uid);
  }
}

ResolvedPods StaticPods::resolve(const std::vector<Change<Node>>& nodes, std::vector<Change<Pod>> pods) {
  ResolvedPods out;
  std::set<std::string> concerned = learn(nodes);
  std::set<std::string> changed;         // mirror pods
  std::map<std::string, bool> followed;  // keyed by UID of a changed mirror pod
  for (Change<Pod>& change : pods) {
    const std::string uid = change.key;
    const auto known = mirrors_.find(uid);
    const bool was_mirror = known != mirrors_.end();
    const bool shown_by_its_own =
        given_.contains(uid) && (!was_mirror || (known->second.shown && !known->second.granted));
    if (change.now)
      given_.insert(uid);
    else
      remember(uid);  // includes pods that existed only between two calls
    if (!change.now) given_.erase(uid);
    concerned.insert(uid);
    bool fresh = !was_mirror;
    if (was_mirror && (!change.now || change.now->mirror != known->second.pod->mirror)) {
      const MirrorClaim& claim = known->second.pod->mirror;
      if (known->second.granted) {
        out.released.push_back(claim.uid);
        recall(claim.uid, known->second.pod->pod_namespace);  // its kubelet may show it again
      }
      concerned.insert(claim.uid);
      const auto claims = claims_.find(claim.uid);
      claims->second.erase({claim.created, uid});
      if (claims->second.empty()) claims_.erase(claims);
      mirrors_.erase(known);
      fresh = true;
    }
    if (change.now && !change.now->mirror.uid.empty()) {
      const MirrorClaim& claim = change.now->mirror;
      claims_[claim.uid].insert({claim.created, uid});
      Mirror& mirror = mirrors_[uid];
      mirror.pod = change.now;
      if (fresh) mirror.shown = shown_by_its_own;
      concerned.insert(claim.uid);
      changed.insert(uid);
      followed[uid] = change.followed;
    } else {
      out.pods.push_back(std::move(change));
    }
  }
  for (const std::string& uid : concerned) grant(uid, changed, out);
  for (const std::string& uid : changed) {
    Mirror& mirror = mirrors_.at(uid);
    mirror.shown = true;
    auto shown = std::make_shared<Pod>(*mirror.pod);
    if (mirror.granted) shown->uid = mirror.pod->mirror.uid;
    const std::string key = shown->uid;
    out.pods.push_back({key, std::move(shown), followed[uid]});
  }
  std::sort(out.released.begin(), out.released.end());
  out.released.erase(std::unique(out.released.begin(), out.released.end()), out.released.end());
  return out;
}

}  // namespace wattle::kube
