#include "agent/collect/cgroup_tree.hpp"

#include <algorithm>

namespace wattle::agent {

namespace {
std::string_view name_of(const CgroupNode& node) {
  return std::string_view(node.path).substr(node.path.rfind('/') + 1);
}

std::size_t count(const CgroupNode& node) {
  std::size_t sum = 1;
  for (const auto& child : node.children) sum += count(*child);
  return sum;
}

void collect_roots(const CgroupNode& node, std::vector<std::uint64_t>& ids) {
  if (node.is_root) ids.push_back(node.id);
  for (const auto& child : node.children) collect_roots(*child, ids);
}
}  // namespace

CgroupTree CgroupTree::open_(Dir root, CgroupTreeOptions options) {
  const auto id = root.inode();
  return {std::make_unique<CgroupNode>(std::move(root), id ? *id : 0, ""), std::move(options)};
}

bool CgroupTree::refresh() {
  full_ = refreshes_ % options_.full_every == 0;
  if (full_) truncated_ = false;
  changed_ = false;
  visit(*top_, 0);
  ++refreshes_;
  if (changed_) {
    find_pods(*top_);
    mark_roots(*top_, false);
  }
  return changed_;
}

void CgroupTree::visit(CgroupNode& node, std::size_t depth) {
  node.dead.clear();
  const auto links = node.dir.link_count();
  // Some file systems that are no cgroups do not count a directory's children in its links.
  const bool counted = links && *links >= 2;
  if (full_ || node.relist || !counted || *links != node.links) {
    if (links) node.links = *links;
    node.relist = false;
    if (full_) {
      node.files.psi.retry();
      node.files.no_memory = node.files.no_pids = node.files.no_io = false;
    }
    if (depth < options_.max_depth)
      reconcile(node);
    else
      truncated_ = true;
  } else {
    for (auto& child : node.children) child->born = false;
  }
  for (auto& child : node.children) visit(*child, depth + 1);
}

void CgroupTree::reconcile(CgroupNode& node) {
  std::vector<DirEntry> entries;
  if (auto listed = node.dir.list()) {
    entries = std::move(*listed);
  } else if (listed.error().code != Errc::not_found) {
    // Out of descriptors, say. What could not be looked at has not ended.
    truncated_ = node.relist = true;
    for (auto& child : node.children) child->born = false;
    return;
  }
  std::vector<std::unique_ptr<CgroupNode>> kept;
  auto old = node.children.begin();
  const auto drop = [&](CgroupNode& gone) {
    collect_roots(gone, node.dead);
    size_ -= count(gone);
    changed_ = true;
  };
  for (auto& entry : entries) {  // both are sorted by name
    if (!entry.is_dir) continue;
    while (old != node.children.end() && name_of(**old) < entry.name) drop(**old++);
    if (old != node.children.end() && name_of(**old) == entry.name) {
      const auto id = node.dir.inode_of(entry.name);
      if (id && *id == (*old)->id && !(*old)->gone) {
        (*old)->born = false;
        kept.push_back(std::move(*old++));
        continue;
      }
      drop(**old++);
    }
    if (size_ >= options_.max_cgroups) {
      truncated_ = true;
      continue;
    }
    auto dir = node.dir.open_dir(entry.name);
    if (!dir) {
      if (dir.error().code != Errc::not_found) truncated_ = node.relist = true;
      continue;  // else it went between the listing and now
    }
    const auto id = dir->inode();
    if (!id) continue;
    auto child = std::make_unique<CgroupNode>(std::move(*dir), *id, node.path + "/" + entry.name);
    child->in_kubepods = node.in_kubepods || is_kubepods(entry.name);
    child->born = refreshes_ > 0;
    const auto& parents = options_.pod_parents;
    if (std::find(parents.begin(), parents.end(), node.path) != parents.end())
      child->identity = Identity{WorkloadKind::pod, entry.name, ""};
    else
      child->identity = identify_element(entry.name, node.in_kubepods);
    if (child->identity && name_of(node) == "qemu.slice" && child->identity->kind == WorkloadKind::other &&
        entry.name.size() > 6)
      child->identity = Identity{WorkloadKind::vm, entry.name.substr(0, entry.name.rfind('.')), ""};
    if (child->identity) child->identity->name = as_utf8(std::move(child->identity->name));
    ++size_;
    changed_ = true;
    kept.push_back(std::move(child));
  }
  while (old != node.children.end()) drop(**old++);
  node.children = std::move(kept);
}

bool CgroupTree::find_pods(CgroupNode& node) {
  node.holds_pod = false;
  for (auto& child : node.children) {
    const bool below = find_pods(*child);
    node.holds_pod = node.holds_pod || below || (child->identity && child->identity->kind == WorkloadKind::pod);
  }
  return node.holds_pod;
}

void CgroupTree::mark_roots(CgroupNode& node, bool below_root) {
  node.is_root = !below_root && node.identity && !node.holds_pod;
  for (auto& child : node.children) mark_roots(*child, below_root || node.is_root);
}

}  // namespace wattle::agent
