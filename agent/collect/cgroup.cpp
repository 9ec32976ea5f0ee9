#include "agent/collect/cgroup.hpp"

#include <unistd.h>

#include <algorithm>

#include "common/parse.hpp"
#include "common/stats/exact_split.hpp"

namespace wattle::agent {

namespace {
std::optional<std::uint64_t> gain(std::optional<std::uint64_t> prev, std::optional<std::uint64_t> now) {
  if (!prev || !now || *now < *prev) return std::nullopt;
  return *now - *prev;
}
}  // namespace

CgroupCollector::CgroupCollector(CgroupTree tree, std::optional<CgroupSweep> sweep)
    : tree_(std::move(tree)), sweep_(std::move(sweep)) {
  const long bytes = ::sysconf(_SC_PAGESIZE);
  page_bytes_ = bytes > 0 ? static_cast<std::uint64_t>(bytes) : 4096;
}

void CgroupCollector::read(CgroupReadings& out, const Clock& clock, double cores, std::span<char> scratch,
                           const ShortLivedSources& short_sources) {
  out_ = &out;
  if (!out.with_raw) {
    out.counters.clear();
    out.paths.clear();
  }
  short_sources_ = &short_sources;
  clock_ = &clock;
  scratch_ = scratch;
  used_ = 0;
  const MonoTime before = now_;
  now_ = clock.mono();
  // Twice the cores' capacity since the previous tick: a counter beyond that did not start within the interval.
  newborn_limit_us_ = ++ticks_ > 1 ? 2e6 * cores * seconds(now_ - before) : 0;
  if (v1_ && now_ >= controllers_due_) find_controllers();

  if (sweep())
    read_swept();
  else
    read_kept();
  CgroupNode& top = tree_.top();
  out.total_usage_us = top.usage_us;
  out.total_usage_delta_us = top.usage_delta_us;
  report_dead(top);
  for (const ShortLived& root : short_) report_short(root);
  out.workloads.resize(used_);
  if (!out.with_raw) return;
  out.counters.resize(used_);
  out.paths.resize(used_);
}

// Finds short-lived roots. Called after the tree was read, so `ended` includes all cgroups that the reading missed.
void CgroupCollector::find_short() {
  short_.clear();
  if (!short_sources_->ended) return;
  const auto ended = short_sources_->ended();
  if (ticks_ > 1) short_ = find_short_lived(tree_, ended);
}

std::span<ShortLived> CgroupCollector::short_below(const CgroupNode& node) {
  struct ByAnchor {
    bool operator()(const ShortLived& a, const CgroupNode* b) const { return std::less<>{}(a.anchor, b); }
    bool operator()(const CgroupNode* a, const ShortLived& b) const { return std::less<>{}(a, b.anchor); }
  };
  const auto [from, to] = std::equal_range(short_.begin(), short_.end(), &node, ByAnchor{});
  return {from, to};
}

void CgroupCollector::report_short(const ShortLived& root) {
  WorkloadValues& values = begin(root.id, root.identity);
  WorkloadCounters raw;
  values.ended = true;
  values.cpu_usage_us = raw.cpu_usage_us = root.usage_us;
  container_uses_.clear();  // the containers of a root that was never read are unknown
  report_containers(root.identity, values);
  end(raw, root.path);
}

bool CgroupCollector::sweep() {
  if (!sweep_) return false;
  ask_pressure();
  auto records = sweep_->read();
  if (!records && records.error().code == Errc::out_of_range)
    if (auto larger = CgroupSweep::open_(tree_.top_dir())) {
      sweep_.emplace(std::move(*larger));
      records = sweep_->read();
    }
  if (!records) {
    sweep_lost_ = std::move(records.error());
    // Descriptors and memory become available again, but the agent may no longer have the capabilities to open another
    // sweep.
    if (sweep_lost_->code != Errc::exhausted) sweep_.reset();
    return false;
  }
  sweep_lost_.reset();
  records_ = *records;
  now_ = clock_->mono();
  return true;
}

void CgroupCollector::read_swept() {
  tree_.refresh(records_);
  find_short();
  read_usage(tree_.top());  // the kernel keeps the top's counters elsewhere
  const auto order = tree_.order();
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (order[i] == nullptr) continue;
    take_usage(*order[i], records_[i].usage_ns / 1000);
    const bool throttles = (records_[i].present & kCgroup_has_throttled) != 0;
    take_throttled(*order[i], throttles ? std::optional(records_[i].throttled_ns / 1000) : std::nullopt);
  }
  settle(tree_.top());
  // Inner roots are read before the roots that hold them; in `order` parents come first.
  for (std::size_t i = 1; i < order.size(); ++i)
    if (order[i] != nullptr && order[i]->is_root && !order[i]->open) read_root(*order[i], &records_[i]);
  for (std::size_t i = order.size(); i-- > 1;)
    if (order[i] != nullptr && order[i]->is_root && order[i]->open) read_root(*order[i], &records_[i]);
}

void CgroupCollector::read_kept() {
  tree_.refresh();
  find_short();
  read_node(tree_.top(), nullptr);
  settle(tree_.top());
  read_roots(tree_.top());
}

void CgroupCollector::take_usage(CgroupNode& node, std::optional<std::uint64_t> usage_us) {
  const auto prev = node.usage_us;
  node.usage_us = usage_us;
  node.usage_delta_us = gain(prev, usage_us);
  if (!prev && node.born && usage_us && static_cast<double>(*usage_us) <= newborn_limit_us_)
    node.usage_delta_us = usage_us;
}

void CgroupCollector::take_throttled(CgroupNode& node, std::optional<std::uint64_t> throttled_us) {
  if (!node.throttled_v1) follow_throttled(node, throttled_us);
}

void CgroupCollector::follow_throttled(CgroupNode& node, std::optional<std::uint64_t> throttled_us) {
  const auto prev = node.throttled_us;
  node.throttled_us = throttled_us;
  node.throttled_delta_us = gain(prev, throttled_us);
  if (!prev && node.born) node.throttled_delta_us = throttled_us;
}

// Reads throttling of the cgroups below that are neither roots nor containers; nothing else is read of them. Cgroups
// can be throttled only below one that may be throttled.
void CgroupCollector::read_throttled_below(CgroupNode& node) {
  if (!node.throttled_us || node.throttled_v1) return;
  for (auto& child : node.children) {
    if (!child->dir || child->is_root) continue;
    if (!child->is_container && !node.open) {
      const auto text = child->cpu.read_from(*child->dir, scratch_);
      take_throttled(*child, text ? parse_cpu_stat(*text).throttled_us : std::nullopt);
    }
    read_throttled_below(*child);
  }
}

bool CgroupCollector::read_usage(CgroupNode& node) {
  const bool top = &node == &tree_.top();
  // The directory is unset while a sweep is used, and when it cannot be opened for lack of descriptors.
  const Dir* dir = node.dir ? node.dir.get() : top || node.cpu.is_open() ? &tree_.top_dir() : nullptr;
  auto text = dir != nullptr ? node.cpu.read_from(*dir, scratch_)
                             : Result<std::string_view>(fail(Errc::exhausted, node.path, "is not open"));
  if (!text) {
    node.usage_us.reset();
    node.usage_delta_us.reset();
    return false;
  }
  const CpuTotals totals = parse_cpu(*text, tree_.v1());
  take_throttled(node, totals.throttled_us);
  take_usage(node, totals.usage_us);
  return true;
}

// Reads children before their parent, so that the parent's gain is never below that of its children.
void CgroupCollector::read_node(CgroupNode& node, CgroupNode* parent) {
  if (node.gone) return;
  if (node.open)
    for (auto& child : node.children) read_node(*child, &node);
  if (node.is_root && !node.root) node.root = std::make_unique<CgroupRoot>();
  if (read_usage(node)) {
    if (node.is_root && node.identity->kind == WorkloadKind::pod)
      read_containers(node, node.usage_delta_us.value_or(1) > 0);
    if (node.is_root) read_throttled_below(node);
    return;
  }
  if (parent == nullptr) return;
  // Either the kernel has no such file here, or the cgroup ended: ENODEV from an open file, ENOENT from its directory.
  node.gone = !tree_.lives(node);
  if (!node.gone) return;
  parent->relist = true;
  if (node.is_root) parent->dead.push_back(CgroupTree::leave(node));
  if (node.is_container) parent->dead.push_back(CgroupTree::leave_container(node));
  node.is_root = false;
  for (DeadRoot& dead : node.dead) parent->dead.push_back(std::move(dead));  // a whole slice ended
  node.dead.clear();
}

// Reads the usage of a pod's containers. Skips them if the pod did not run (`ran`), because then neither did they.
void CgroupCollector::read_containers(CgroupNode& node, bool ran) {
  for (auto& child : node.children) {
    if (child->is_root) continue;
    if (!child->is_container) {
      read_containers(*child, ran);
      continue;
    }
    if (child->gone || node.open) continue;  // those of an open node were read already
    if (!ran && !child->born && child->usage_us) {
      child->usage_delta_us = 0;
      if (child->throttled_us) child->throttled_delta_us = 0;
      continue;
    }
    const auto last_delta_us = child->usage_delta_us;
    if (read_usage(*child)) continue;
    if (tree_.lives(*child)) continue;
    child->gone = node.relist = true;
    child->usage_delta_us = last_delta_us;
    node.dead.push_back(CgroupTree::leave_container(*child));
  }
}

void CgroupCollector::read_roots(CgroupNode& node) {
  if (node.gone) return;
  if (node.open)
    for (auto& child : node.children) read_roots(*child);
  if (node.is_root) read_root(node, nullptr);
}

// Settles usage from the top down, because a parent's gain bounds the gains of its children. The counter of a new
// cgroup may contain time that the previous tick attributed to a dead sibling, if the parent was read after the
// creation.
void CgroupCollector::settle(CgroupNode& node) {
  // Kernel threads run in the top cgroup: only time on CPU separates their usage from that of ended children.
  const bool top = &node == &tree_.top();
  if (node.usage_delta_us) {
    std::uint64_t left = *node.usage_delta_us;
    bool newborns = false;
    for (const auto& child : node.children) {
      newborns = newborns || child->born;
      if (!child->born && !child->gone) left -= std::min(left, child->usage_delta_us.value_or(0));
    }
    if (newborns && !top)
      for (auto& child : node.children)
        if (child->born && !child->gone && child->usage_delta_us) {
          child->usage_delta_us = std::min(left, *child->usage_delta_us);
          left -= *child->usage_delta_us;
        }
    if (const auto below = short_below(node); !below.empty() && (!top || short_sources_->on_cpu_ns))
      left -= settle_short_lived(below, left, !top && node.dead.empty(), *short_sources_);
    if (!top && !node.dead.empty()) settle_dead(node, left);
  }
  if (!node.open) return;
  for (auto& child : node.children) settle(*child);
  node.within_us = 0;
  for (const DeadRoot& dead : node.dead)
    if (dead.root && !dead.root->fresh) node.within_us += dead.root->ended_usage_us.value_or(0);
  for (const ShortLived& root : short_below(node)) node.within_us += root.usage_us.value_or(0);
  for (const auto& child : node.children)
    if (!child->gone) node.within_us += child->is_root ? child->usage_delta_us.value_or(0) : child->within_us;
}

// Attributes the parent's gain beyond that of its living children to the dead ones. If several ended at once, it is
// split in proportion to their usage in the previous interval.
void CgroupCollector::settle_dead(CgroupNode& node, std::uint64_t left_us) {
  std::vector<std::uint64_t> weights;
  for (const DeadRoot& dead : node.dead)
    weights.push_back(dead.root ? dead.root->last_delta_us + 1 : dead.container ? dead.last_delta_us + 1 : 0);
  const auto shares = stats::split_exactly(left_us, weights);
  for (std::size_t i = 0; i < shares.size(); ++i)
    if (node.dead[i].root) node.dead[i].root->ended_usage_us = shares[i];
}

// A pod within a pod is not a pod of this node, because the node's own cluster does not know it.
WorkloadValues& CgroupCollector::begin(std::uint64_t id, const Identity& identity, bool foreign) {
  auto& all = out_->workloads;
  // Reserves an eighth more than needed: doubling would cost megabytes.
  if (used_ == all.capacity()) all.reserve(std::max(used_, tree_.size()) * 9 / 8 + 8);
  if (used_ == all.size()) all.emplace_back();
  WorkloadValues& values = all[used_++];
  std::string name = std::move(values.name);  // keeps its memory, like the containers below
  auto containers = std::move(values.containers);
  name = identity.name;
  containers.clear();
  values = WorkloadValues{};
  values.containers = std::move(containers);
  values.cgroup_id = id;
  values.kind = foreign ? WorkloadKind::other : identity.kind;
  values.name = std::move(name);
  return values;
}

void CgroupCollector::end(const WorkloadCounters& raw, const std::string& path) {
  if (!out_->with_raw) return;
  if (used_ > out_->counters.size()) {
    out_->counters.emplace_back();
    out_->paths.emplace_back();
  }
  out_->counters[used_ - 1] = raw;
  out_->paths[used_ - 1] = path;
}

// Sets the usage of containers from container_uses_. If the pod's cgroup is itself a container
// (`<slice>:cri-containerd:<id>`), that container has the pod's usage.
void CgroupCollector::report_containers(const Identity& identity, WorkloadValues& values) {
  if (values.kind != WorkloadKind::pod || values.cpu_usage_us.value_or(0) == 0) return;
  if (!identity.container_id.empty())
    container_uses_.assign({{identity.container_id, *values.cpu_usage_us, false, false}});
  settle_containers(container_uses_, *values.cpu_usage_us, values.containers);
}

void CgroupCollector::report_ended(const DeadRoot& dead) {
  if (!dead.root || dead.root->fresh) return;  // never reported, or not a root
  const CgroupRoot& root = *dead.root;
  WorkloadValues& values = begin(dead.id, dead.identity, dead.foreign);
  values.ended = true;
  values.cpu_usage_us = root.ended_usage_us;
  values.memory_bytes = root.memory_bytes;
  values.memory_anon_bytes = root.memory_anon_bytes;
  values.memory_file_bytes = root.memory_file_bytes;
  values.pids = root.pids;
  values.pressure = root.pressure;
  container_uses_.clear();
  for (const LastContainer& each : dead.containers)
    container_uses_.push_back({each.id, each.last_delta_us, false, true});
  report_containers(dead.identity, values);
  end(root.raw, dead.path);
}

void CgroupCollector::report_dead(CgroupNode& node) {
  for (const DeadRoot& dead : node.dead) report_ended(dead);
  node.dead.clear();
  if (node.open)
    for (auto& child : node.children) report_dead(*child);
}

}  // namespace wattle::agent
