// cgroup_root: the values of one workload root, from its record of the sweep or from its files.
#include <algorithm>
#include <chrono>

#include "agent/collect/cgroup.hpp"
#include "agent/collect/cgroup_nesting.hpp"
#include "common/parse.hpp"

namespace wattle::agent {

namespace {
constexpr std::chrono::seconds kSlow{5}, kSlow_idle{60}, kIdle_after{60};
constexpr std::chrono::milliseconds kEarly{50};  // tolerance for inexact ticks
constexpr std::chrono::seconds kPsi_retry{30}, kControllers_every{30};
// Beyond this number the slow files are opened for each reading, because the kernel holds a page for every open file.
constexpr std::size_t kKeep_files_max = 2'000;

std::optional<std::uint64_t> since(std::optional<std::uint64_t> before, std::optional<std::uint64_t> now,
                                   bool newborn) {
  if (!now) return std::nullopt;
  if (!before) return newborn ? now : std::nullopt;
  return *now < *before ? std::nullopt : std::optional(*now - *before);
}

// Sums throttling by the cgroup's own limit and by limits below it: the kernel counts each cgroup separately, and a
// pod's containers have limits.
std::optional<std::uint64_t> throttled_at_or_below(const CgroupNode& node) {
  auto sum = node.throttled_delta_us;
  for (const auto& child : node.children)
    if (const auto below = child->is_root ? std::nullopt : throttled_at_or_below(*child))
      sum = sum.value_or(0) + *below;
  return sum;
}

void take_events(CgroupRoot& root, const MemoryEvents& now, bool newborn, WorkloadValues& values) {
  values.memory_high_events = since(root.raw.events.high, now.high, newborn);
  values.memory_oom_kills = since(root.raw.events.oom_kills, now.oom_kills, newborn);
  root.raw.events = now;
}

void take_pressure(CgroupRoot& root, const PressureTotals& totals, MonoTime at) {
  root.pressure = root.fresh ? Pressure{} : mean_pressure(root.raw.pressure, totals, at - root.at);
  root.raw.pressure = totals;
  root.at = at;
}

PressureTotals pressure_of(const cgroup_record& record) {
  if ((record.present & kCgroup_has_pressure) == 0) return {};
  const auto us = [&](int which) { return record.pressure_ns[which] / 1000; };
  PressureTotals totals{{us(kPsi_cpu_some), std::nullopt},
                        {us(kPsi_memory_some), us(kPsi_memory_full)},
                        {us(kPsi_io_some), us(kPsi_io_full)}};
  if ((record.present & kCgroup_has_cpu_full) != 0) totals.cpu.full_us = us(kPsi_cpu_full);
  return totals;
}

// A cgroup's directory during a reading: the tree's open one, or opened when a file must be opened.
class DirOf {
 public:
  DirOf(const CgroupTree& tree, const CgroupNode& node) : tree_(tree), node_(node) {}
  const Dir* get() {
    if (node_.dir) return &*node_.dir;
    if (!opened_ && !failed_) {
      auto dir = tree_.open_dir_of(node_);
      if (dir)
        opened_.emplace(std::move(*dir));
      else
        failed_ = true;
    }
    return opened_ ? &*opened_ : nullptr;
  }
  // An open file is read without its directory, so any directory is suitable.
  const Dir* get_for(bool is_open) { return is_open ? &tree_.top_dir() : get(); }

 private:
  const CgroupTree& tree_;
  const CgroupNode& node_;
  std::optional<Dir> opened_;
  bool failed_ = false;
};
}  // namespace

// A controller that cgroup v1 has is missing from cgroup v2. It moves only while it is unused.
void CgroupCollector::find_controllers() {
  controllers_due_ = now_ + kControllers_every;
  if (tree_.v1()) {
    v2_memory_ = v2_io_ = false;
    return;
  }
  const auto text = tree_.top_dir().read_file("cgroup.controllers");
  const auto names = text ? parse::fields(parse::trim(*text)) : std::vector<std::string_view>{"memory", "io"};
  v2_memory_ = std::find(names.begin(), names.end(), "memory") != names.end();
  v2_io_ = std::find(names.begin(), names.end(), "io") != names.end();
}

// Reads one pressure file of each due root, which makes the kernel update all pressure totals of that cgroup.
void CgroupCollector::ask_pressure() {
  for (CgroupNode* node : pressure_due_) {
    CgroupRoot& root = *node->root;
    KeptFile& file = root.files().pressure;
    DirOf dir(tree_, *node);
    if (const Dir* at = dir.get_for(file.is_open()))
      root.pressure_asked = file.read_from(*at, scratch_.first(1)).has_value();
  }
  pressure_due_.clear();
}

void CgroupCollector::read_root(CgroupNode& node, const cgroup_record* record) {
  if (!node.root) node.root = std::make_unique<CgroupRoot>();
  CgroupRoot& root = *node.root;
  WorkloadValues& values = begin(node.id, *node.identity, node.foreign);
  const bool newborn = root.fresh && node.usage_delta_us.has_value();
  const auto memory_before = root.memory_bytes;
  if (root.fresh) root.slow_at = root.active_at = now_;
  take_own_usage(node, values);
  root.raw.cpu_usage_us = node.usage_us;
  if (v1_ && v1_->throttles()) read_throttled_v1(node);
  values.cpu_throttled_us = throttled_at_or_below(node);
  root.raw.cpu_throttled_us = node.throttled_us;
  root.last_delta_us = values.cpu_usage_us.value_or(0);
  container_uses_.clear();
  if (root.last_delta_us > 0) find_containers(node, container_uses_);
  report_containers(*node.identity, values);
  if (record != nullptr)
    take_record(node, *record, newborn, values);
  else if (!tree_.v1())
    read_files(node);
  if (v1_) read_v1(node);
  if (root.last_delta_us > 0 || root.memory_bytes != memory_before) root.active_at = now_;
  if (now_ + kEarly >= root.slow_at) read_slow(node, record, newborn, values);
  root.fresh = false;
  values.memory_bytes = root.memory_bytes;
  values.memory_anon_bytes = root.memory_anon_bytes;
  values.memory_file_bytes = root.memory_file_bytes;
  values.pids = root.pids;
  values.pressure = root.pressure;
  take_own_counts(node, values);
  end(root.raw, node.path);
}

void CgroupCollector::take_record(CgroupNode& node, const cgroup_record& record, bool newborn, WorkloadValues& values) {
  CgroupRoot& root = *node.root;
  const auto has = [&](unsigned bit) { return (record.present & bit) != 0; };
  const auto value = [&](unsigned bit, std::uint64_t what) { return has(bit) ? std::optional(what) : std::nullopt; };
  root.memory_bytes = value(kCgroup_has_memory, record.memory_pages * page_bytes_);
  root.pids = value(kCgroup_has_pids, record.pids);
  take_events(
      root, {value(kCgroup_has_events, record.memory_high_events), value(kCgroup_has_events, record.memory_oom_kills)},
      newborn, values);
  PressureTotals totals = pressure_of(record);
  if (has(kCgroup_pressure_due)) {
    if (!root.pressure_asked) {  // it started to stall since the previous tick
      DirOf dir(tree_, node);
      if (const Dir* at = dir.get()) totals = root.files().psi.read_from(*at, scratch_);
    }
    pressure_due_.push_back(&node);
  }
  root.pressure_asked = false;
  take_pressure(root, totals, now_);
}

void CgroupCollector::read_files(CgroupNode& node) {
  CgroupRoot& root = *node.root;
  if (!node.dir) return;  // could not be opened; the tree reports it
  CgroupRootFiles& files = root.files();
  auto text = files.memory.read_from(*node.dir, scratch_, now_);
  root.memory_bytes = text ? parse::u64(parse::trim(*text)) : std::nullopt;
  text = files.pids.read_from(*node.dir, scratch_, now_);
  root.pids = text ? parse::u64(parse::trim(*text)) : std::nullopt;
  if (now_ >= files.psi_retry_at) {
    files.psi.retry();
    files.psi_retry_at = now_ + kPsi_retry;
  }
  const auto totals = files.psi.read_from(*node.dir, scratch_);
  take_pressure(root, totals, clock_->mono());
}

void CgroupCollector::read_v1(CgroupNode& node) {
  CgroupRoot& root = *node.root;
  if (tree_.v1() || !root.memory_bytes) root.memory_bytes = v1_->memory_bytes(root.of_v1(), node.path, now_, scratch_);
  if (tree_.v1() || !root.pids) root.pids = v1_->pids(root.of_v1(), node.path, now_, scratch_);
}

// Reads what cgroup v2 does not report: the limits of a pod and of its containers are in the hierarchy of cgroup v1.
void CgroupCollector::read_throttled_v1(CgroupNode& node) {
  if (!node.throttled_us || node.throttled_v1) {
    if (!node.throttled_v1) node.throttled_v1 = std::make_unique<MaybeFile>("cpu.stat");
    follow_throttled(node, v1_->throttled_us(*node.throttled_v1, node.path, now_, scratch_));
  }
  for (auto& child : node.children)
    if (!child->is_root) read_throttled_v1(*child);
}

void CgroupCollector::take_io(CgroupRoot& root, const IoTotals& now, bool newborn, WorkloadValues& values) {
  const auto& before = root.raw.io;
  const auto part = [&](std::uint64_t IoTotals::*which) {
    return since(before ? std::optional((*before).*which) : std::nullopt, now.*which, newborn);
  };
  values.io_read_bytes = part(&IoTotals::read_bytes);
  values.io_write_bytes = part(&IoTotals::write_bytes);
  root.raw.io = now;
}

void CgroupCollector::read_slow(CgroupNode& node, const cgroup_record* record, bool newborn, WorkloadValues& values) {
  CgroupRoot& root = *node.root;
  if (root.fresh)
    root.slow_at =
        now_ + std::chrono::seconds(1 + first_sights_++ % kSlow.count());  // then a fifth of the roots each second
  else
    root.slow_at = std::max(root.slow_at, now_ - kSlow) + (now_ - root.active_at < kIdle_after ? kSlow : kSlow_idle);
  DirOf dir(tree_, node);
  const auto read = [&](MaybeFile& file) -> std::optional<std::string_view> {
    if (file.is_absent(now_)) return std::nullopt;
    const Dir* at = dir.get_for(file.is_open());
    return at != nullptr ? file.read_from(*at, scratch_, now_) : std::nullopt;
  };
  if (record == nullptr && !tree_.v1()) {
    const auto text = read(root.files().events);
    take_events(root, text ? parse_memory_events(*text) : MemoryEvents{}, newborn, values);
  }
  if (record == nullptr || v1_ || (record->present & kCgroup_has_memory) != 0) {
    const auto text = v2_memory_ ? read(root.memory_stat) : std::optional<std::string_view>();
    const MemoryUse use = text ? parse_memory_stat(*text) : MemoryUse{};
    root.memory_anon_bytes = use.anon_bytes;
    root.memory_file_bytes = use.file_bytes;
  }
  if (v1_ && (!v2_memory_ || root.memory_stat.is_absent(now_)))
    if (const auto text = v1_->memory_stat(root.of_v1(), node.path, now_, scratch_)) {
      const MemoryUse use = parse_memory_stat_v1(*text);
      root.memory_anon_bytes = use.anon_bytes;
      root.memory_file_bytes = use.file_bytes;
    }
  if (const auto text = v2_io_ ? read(root.io) : std::optional<std::string_view>())
    take_io(root, parse_io_stat(*text, stacked_majors_), newborn, values);
  else if (const auto io = v1_ ? v1_->io(root.of_v1(), node.path, stacked_majors_, now_, scratch_) : std::nullopt)
    take_io(root, *io, newborn, values);
  if (tree_.size() > kKeep_files_max) {
    if (root.rare_files) root.rare_files->events.close();
    root.memory_stat.close();
    root.io.close();
    root.v1_files.reset();
  }
}

}  // namespace wattle::agent
