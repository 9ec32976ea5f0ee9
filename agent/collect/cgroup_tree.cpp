#include "agent/collect/cgroup_tree.hpp"

#include <algorithm>

namespace wattle::agent {

namespace {
constexpr std::string_view kKataOverhead = "kata_overhead";
}  // namespace

CgroupTree CgroupTree::open_(Dir root, CgroupTreeOptions options) {
  const auto id = root.inode();
  auto top = std::make_unique<CgroupNode>((id ? *id : 0) | (options.v1 ? kV1_id : 0), "", options.v1);
  return {std::move(root), std::move(top), std::move(options)};
}

Result<std::uint64_t> CgroupTree::id_of(Result<std::uint64_t> inode) const {
  if (inode && options_.v1) *inode |= kV1_id;
  return inode;
}

Result<Dir> CgroupTree::open_dir_of(const CgroupNode& node) const {
  WATTLE_TRY(Dir dir, top_dir_.open_dir(node.path));
  WATTLE_TRY(const std::uint64_t id, id_of(dir.inode()));
  if (id != node.id) return fail(Errc::not_found, dir.path(), "is now another cgroup");
  return dir;
}

bool CgroupTree::lives(const CgroupNode& node) const {
  const auto id = id_of(top_dir_.inode_of(node.path));
  return id ? *id == node.id : id.error().code != Errc::not_found;
}

void CgroupTree::mark() {
  if (!changed_) return;
  assign_overhead();
  mark_roots(*top_, false, false, false);
}

bool CgroupTree::refresh() {
  full_ = refreshes_ % options_.full_every == 0;
  if (full_) truncated_ = false;
  changed_ = false;
  std::swap(dropped_, dropped_before_);
  dropped_.clear();
  order_.clear();
  ids_.clear();
  marked_.clear();
  visit(*top_, 0);
  ++refreshes_;
  mark();
  return changed_;
}

void CgroupTree::visit(CgroupNode& node, std::size_t depth) {
  node.dead.clear();
  if (!node.dir) {
    auto dir = open_dir_of(node);
    if (!dir) {  // removed when its parent is listed
      if (dir.error().code != Errc::not_found) truncated_ = true;
      return;
    }
    node.dir = std::make_unique<Dir>(std::move(*dir));
    node.relist = true;
  }
  const auto links = node.dir->link_count();
  // Some file systems other than cgroup2 do not count a directory's children in its links.
  const bool counted = links && *links >= 2;
  if (full_ || node.relist || !counted || *links != node.links) {
    if (links) node.links = *links;
    node.relist = false;
    if (depth < options_.max_depth)
      reconcile(node);
    else
      truncated_ = true;
  } else {
    for (auto& child : node.children) child->born = false;
  }
  for (auto& child : node.children) visit(*child, depth + 1);
}

DeadRoot CgroupTree::leave(CgroupNode& root) {
  DeadRoot dead{root.id, root.path, *root.identity, std::move(root.root), {}, false, 0, root.foreign};
  const auto collect = [&](const auto& self, CgroupNode& node) -> void {
    for (const DeadRoot& each : node.dead)
      if (each.container) dead.containers.push_back({each.identity.container_id, each.last_delta_us});
    std::erase_if(node.dead, [](const DeadRoot& each) { return each.container; });
    for (auto& child : node.children) {
      if (child->is_root) continue;  // it leaves on its own
      if (child->is_container && !child->gone)
        dead.containers.push_back({child->identity->container_id, child->own_delta_us()});
      child->is_container = false;
      self(self, *child);
    }
  };
  collect(collect, root);
  return dead;
}

DeadRoot CgroupTree::leave_container(CgroupNode& container) {
  container.is_container = false;
  return {container.id, container.path, *container.identity, nullptr, {}, true, container.own_delta_us(), false};
}

// Moves the roots of a removed subtree, and the containers of roots that stay, to the nearest parent that stays.
void CgroupTree::drop(CgroupNode& gone, std::vector<DeadRoot>& into) {
  dropped_.push_back(gone.id);
  if (gone.is_root) into.push_back(leave(gone));
  if (gone.is_container) into.push_back(leave_container(gone));
  for (auto& dead : gone.dead) into.push_back(std::move(dead));
  gone.dead.clear();
  for (auto& child : gone.children) drop(*child, into);
  --size_;
  changed_ = true;
}

std::optional<Identity> CgroupTree::identity_of(const std::string& parent_path, const std::string& name,
                                                bool in_kubepods) const {
  const auto& parents = options_.pod_parents;
  std::optional<Identity> identity;
  if (std::find(parents.begin(), parents.end(), parent_path) != parents.end())
    identity = Identity{WorkloadKind::pod, name, ""};
  else
    identity = identify_element(name, in_kubepods, std::string_view(parent_path).substr(parent_path.rfind('/') + 1));
  if (identity) identity->name = as_utf8(std::move(identity->name));
  return identity;
}

bool CgroupTree::dropped(std::uint64_t id) const {
  const auto in = [&](const auto& ids) { return std::find(ids.begin(), ids.end(), id) != ids.end(); };
  return in(dropped_) || in(dropped_before_);
}

CgroupNode& CgroupTree::adopt(CgroupNode& parent, std::string name, std::uint64_t id) {
  auto child = std::make_unique<CgroupNode>(id, parent.path + "/" + name, options_.v1);
  child->in_kubepods = parent.in_kubepods || is_kubepods(name);
  child->born = refreshes_ > 0;
  child->identity = identity_of(parent.path, name, parent.in_kubepods);
  ++size_;
  changed_ = true;
  return *parent.children.emplace_back(std::move(child));
}

void CgroupTree::reconcile(CgroupNode& node) {
  std::vector<DirEntry> entries;
  if (auto listed = node.dir->list()) {
    entries = std::move(*listed);
  } else if (listed.error().code != Errc::not_found) {
    // A cgroup that could not be read (for lack of descriptors, for example) has not ended.
    truncated_ = node.relist = true;
    for (auto& child : node.children) child->born = false;
    return;
  }
  std::vector<std::unique_ptr<CgroupNode>> before = std::move(node.children);
  node.children.clear();
  auto old = before.begin();
  for (auto& entry : entries) {  // both are sorted by name
    if (!entry.is_dir) continue;
    while (old != before.end() && (*old)->name() < entry.name) drop(**old++, node.dead);
    if (old != before.end() && (*old)->name() == entry.name) {
      const auto id = id_of(node.dir->inode_of(entry.name));
      if (id && *id == (*old)->id && !(*old)->gone) {
        (*old)->born = false;
        node.children.push_back(std::move(*old++));
        continue;
      }
      drop(**old++, node.dead);
    }
    if (size_ >= options_.max_cgroups) {
      truncated_ = true;
      continue;
    }
    auto dir = node.dir->open_dir(entry.name);
    if (!dir) {
      if (dir.error().code != Errc::not_found) truncated_ = node.relist = true;
      continue;  // otherwise it was removed since the listing
    }
    const auto id = id_of(dir->inode());
    if (id) adopt(node, std::move(entry.name), *id).dir = std::make_unique<Dir>(std::move(*dir));
  }
  while (old != before.end()) drop(**old++, node.dead);
}

// Assigns each /kata_overhead/SANDBOX-ID to its pod. With sandbox_cgroup_only=false, Kata Containers runs the virtual
// machine there and leaves the pod's own cgroup almost empty. The sandbox has the id of a container of the pod.
void CgroupTree::assign_overhead() {
  std::vector<CgroupNode*> overheads;
  const auto find = [&](const auto& self, CgroupNode& node) -> void {
    if (node.name() == kKataOverhead)
      for (auto& child : node.children) overheads.push_back(child.get());
    for (auto& child : node.children) self(self, *child);
  };
  find(find, *top_);
  if (overheads.empty()) return;
  std::unordered_map<std::string, std::string> pods;  // of each container
  const auto note = [&](const auto& self, const CgroupNode& node, const std::string* pod) -> void {
    if (node.identity && node.identity->kind == WorkloadKind::pod) pod = &node.identity->name;
    if (pod != nullptr && node.identity && !node.identity->container_id.empty())
      pods.emplace(node.identity->container_id, *pod);
    for (const auto& child : node.children)
      if (node.name() != kKataOverhead) self(self, *child, pod);
  };
  note(note, *top_, nullptr);
  for (CgroupNode* overhead : overheads) {
    const auto sandbox = container_of(overhead->name());
    const auto pod = sandbox ? pods.find(*sandbox) : pods.end();
    if (pod != pods.end()) overhead->identity = Identity{WorkloadKind::pod, pod->second, *sandbox};
  }
}

// Returns true if a root is at or below the node or ended in this refresh. `in_pod`: a pod is above, with no container
// in between.
bool CgroupTree::mark_roots(CgroupNode& node, bool below_root, bool below_pod, bool in_pod) {
  const bool is_pod = node.identity && node.identity->kind == WorkloadKind::pod;
  node.is_root = is_pod || (node.identity && !below_root);
  node.nested = is_pod && below_root;
  node.foreign = is_pod && below_pod;
  node.is_container = in_pod && !is_pod && node.identity && !node.identity->container_id.empty();
  bool holds_root =
      std::any_of(node.dead.begin(), node.dead.end(), [](const DeadRoot& dead) { return !dead.container; });
  for (auto& child : node.children) {
    const bool found =
        mark_roots(*child, below_root || node.is_root, below_pod || is_pod, is_pod || (in_pod && !node.is_container));
    holds_root = holds_root || found;
  }
  node.open = node.open || holds_root || !(below_root || node.is_root);
  return holds_root || node.is_root;
}

}  // namespace wattle::agent
