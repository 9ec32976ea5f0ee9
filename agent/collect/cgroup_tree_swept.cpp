// cgroup_tree_swept: builds the tree from the records of the BPF sweep.
#include <algorithm>

#include "agent/collect/cgroup_tree.hpp"

namespace wattle::agent {

namespace {
// Names of one directory's children, keyed by inode.
class Names {
 public:
  explicit Names(const CgroupTree& tree) : tree_(tree) {}
  // Empty if the cgroup ended meanwhile, or if the directory cannot be read (then `failed` is set).
  std::string of(const CgroupNode& parent, std::uint64_t id, bool& failed) {
    if (parent_ != parent.id) {
      parent_ = parent.id;
      entries_.clear();
      failed_ = false;
      auto dir = tree_.open_dir_of(parent);
      auto listed = dir ? dir->list() : Result<std::vector<DirEntry>>(forward_error(dir));
      if (listed)
        entries_ = std::move(*listed);
      else
        failed_ = listed.error().code != Errc::not_found;
      std::sort(entries_.begin(), entries_.end(), [](const auto& a, const auto& b) { return a.inode < b.inode; });
    }
    failed = failed_;
    const auto at = std::lower_bound(entries_.begin(), entries_.end(), id,
                                     [](const DirEntry& entry, std::uint64_t inode) { return entry.inode < inode; });
    return at != entries_.end() && at->inode == id && at->is_dir ? at->name : std::string();
  }

 private:
  const CgroupTree& tree_;
  std::uint64_t parent_ = 0;  // 0 is not a valid id
  std::vector<DirEntry> entries_;
  bool failed_ = false;
};
}  // namespace

bool CgroupTree::refresh(std::span<const cgroup_record> records) {
  changed_ = false;
  std::swap(dropped_, dropped_before_);
  dropped_.clear();
  for (CgroupNode* node : marked_) {
    node->born = false;
    node->dead.clear();
  }
  marked_.clear();
  bool same = records.size() == ids_.size() && !truncated_;
  for (std::size_t i = 0; same && i < records.size(); ++i) same = records[i].id == ids_[i];
  if (!same) take_swept(records);
  ++refreshes_;
  mark();
  return changed_;
}

void CgroupTree::take_swept(std::span<const cgroup_record> records) {
  truncated_ = false;
  by_id_.clear();
  const auto index = [&](const auto& self, CgroupNode& node) -> void {
    by_id_.emplace(node.id, &node);
    node.dir.reset();
    if (&node != top_.get()) node.cpu.close();
    node.born = false;
    node.dead.clear();
    for (auto& child : node.children) self(self, *child);
  };
  index(index, *top_);
  const std::uint64_t now = refreshes_ + 1;
  for (const auto& record : records)
    if (const auto found = by_id_.find(record.id); found != by_id_.end()) found->second->refresh = now;
  top_->refresh = now;
  drop_unseen(*top_);

  Names names(*this);
  std::vector<CgroupNode*> grown;
  ids_.clear();
  order_.clear();
  const unsigned top_level = records.empty() ? 0 : records.front().level;
  for (const auto& record : records) {
    ids_.push_back(record.id);
    CgroupNode*& node = order_.emplace_back(nullptr);
    if (const auto found = by_id_.find(record.id); found != by_id_.end()) {
      node = found->second;
      continue;
    }
    const auto parent = by_id_.find(record.parent);
    if (parent == by_id_.end()) continue;  // its parent is unknown too
    if (size_ >= options_.max_cgroups || record.level - top_level > options_.max_depth) {
      truncated_ = true;
      continue;
    }
    bool failed = false;
    std::string name = names.of(*parent->second, record.id, failed);
    truncated_ = truncated_ || failed;
    if (name.empty()) continue;
    node = &adopt(*parent->second, std::move(name), record.id);
    node->refresh = now;
    by_id_.emplace(record.id, node);
    marked_.push_back(node);
    if (grown.empty() || grown.back() != parent->second) grown.push_back(parent->second);
  }
  by_id_.clear();
  for (CgroupNode* parent : grown)
    std::sort(parent->children.begin(), parent->children.end(),
              [](const auto& a, const auto& b) { return a->name() < b->name(); });
}

void CgroupTree::drop_unseen(CgroupNode& node) {
  const auto gone = std::stable_partition(node.children.begin(), node.children.end(),
                                          [&](const auto& child) { return child->refresh == node.refresh; });
  if (gone != node.children.end()) marked_.push_back(&node);
  for (auto it = gone; it != node.children.end(); ++it) {
    const auto forget = [&](const auto& self, const CgroupNode& one) -> void {
      by_id_.erase(one.id);
      for (const auto& child : one.children) self(self, *child);
    };
    forget(forget, **it);
    drop(**it, node.dead);
  }
  node.children.erase(gone, node.children.end());
  for (auto& child : node.children) drop_unseen(*child);
}

}  // namespace wattle::agent
