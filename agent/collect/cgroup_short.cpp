#include "agent/collect/cgroup_short.hpp"

#include <algorithm>
#include <unordered_map>

#include "common/stats/exact_split.hpp"

namespace wattle::agent {

namespace {
struct Living {
  const CgroupNode* node;
  bool of_root, of_pod;  // it or an ancestor is a root (or a pod)
};
using LivingById = std::unordered_map<std::uint64_t, Living>;

void index(const CgroupNode& node, bool of_root, bool of_pod, LivingById& out) {
  of_root = of_root || node.is_root;
  of_pod = of_pod || (node.is_root && node.identity->kind == WorkloadKind::pod);
  out.emplace(node.id, Living{&node, of_root, of_pod});
  for (const auto& child : node.children) index(*child, of_root, of_pod, out);
}

class Finder {
 public:
  Finder(const CgroupTree& tree, std::span<const EndedCgroup> ended) : tree_(tree) {
    index(tree.top(), false, false, living_);
    for (const auto& one : ended) ended_.emplace(one.id, &one);
  }

  bool lives(std::uint64_t id) const { return living_.contains(id); }
  // Returns the root that a removed cgroup belonged to, without members.
  std::optional<ShortLived> root_of(const EndedCgroup& one) {
    std::vector<const EndedCgroup*> chain{&one};
    auto anchor = living_.find(one.parent);
    while (anchor == living_.end()) {
      const auto above = ended_.find(chain.back()->parent);
      if (above == ended_.end() || chain.size() > ended_.size()) return std::nullopt;
      chain.push_back(above->second);
      anchor = living_.find(above->second->parent);
    }
    const CgroupNode& node = *anchor->second.node;
    if (anchor->second.of_pod) return std::nullopt;
    for (const EndedCgroup* each : chain)
      for (const DeadRoot& dead : node.dead)
        if (dead.id == each->id) return std::nullopt;
    return choose(node, chain, anchor->second.of_root);
  }

 private:
  // `pods_alone`: cgroups that are not pods belong to the root above.
  std::optional<ShortLived> choose(const CgroupNode& anchor, const std::vector<const EndedCgroup*>& chain,
                                   bool pods_alone) const {
    std::optional<ShortLived> found;
    std::string path = anchor.path;
    bool in_kubepods = anchor.in_kubepods;
    for (auto each = chain.rbegin(); each != chain.rend(); ++each) {
      const EndedCgroup& one = **each;
      auto identity = tree_.identity_of(path, one.name, in_kubepods);
      in_kubepods = in_kubepods || is_kubepods(one.name);
      path += "/" + one.name;
      const bool is_pod = identity && identity->kind == WorkloadKind::pod;
      if (identity && (found ? is_pod && found->identity.kind != WorkloadKind::pod : is_pod || !pods_alone))
        found = ShortLived{one.id, path, std::move(*identity), &anchor, {}, {}};
    }
    if (found && tree_.dropped(found->id)) return std::nullopt;
    return found;
  }

  const CgroupTree& tree_;
  LivingById living_;
  std::unordered_map<std::uint64_t, const EndedCgroup*> ended_;
};
}  // namespace

std::vector<ShortLived> find_short_lived(const CgroupTree& tree, std::span<const EndedCgroup> ended) {
  std::vector<ShortLived> all;
  if (std::all_of(ended.begin(), ended.end(), [&](const auto& one) { return tree.dropped(one.id); })) return all;
  Finder finder(tree, ended);
  std::unordered_map<std::uint64_t, std::size_t> at;
  for (const EndedCgroup& one : ended) {
    if (tree.dropped(one.id)) continue;
    if (finder.lives(one.id)) continue;  // removed after the tree was read; the next reading reports it
    auto root = finder.root_of(one);
    if (!root) continue;
    const auto [place, fresh] = at.emplace(root->id, all.size());
    if (fresh) all.push_back(std::move(*root));
    all[place->second].members.push_back(one.id);
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return std::less<>{}(a.anchor, b.anchor); });
  return all;
}

std::uint64_t settle_short_lived(std::span<ShortLived> below, std::uint64_t left_us, bool alone,
                                 const ShortLivedSources& sources) {
  std::vector<std::uint64_t> used_us;
  std::uint64_t sum_us = 0;
  bool known = false;
  for (ShortLived& one : below) {
    std::optional<std::uint64_t> ns;
    for (const auto id : one.members)
      if (const auto more = sources.on_cpu_ns ? sources.on_cpu_ns(id) : std::nullopt) ns = ns.value_or(0) + *more;
    if (ns) one.usage_us = *ns / 1000;
    known = known || ns;
    used_us.push_back(one.usage_us.value_or(0));
    sum_us += used_us.back();
  }
  if (!known) {
    if (!alone || below.size() != 1) return 0;
    below[0].usage_us = left_us;
    return left_us;
  }
  if (sum_us <= left_us) return sum_us;
  const auto shares = stats::split_exactly(left_us, used_us);
  for (std::size_t i = 0; i < below.size(); ++i)
    if (below[i].usage_us) below[i].usage_us = shares[i];
  return left_us;
}

}  // namespace wattle::agent
