#include "agent/collect/cgroup.hpp"

#include <algorithm>

#include "agent/attribute/shares.hpp"
#include "common/parse.hpp"

namespace wattle::agent {

namespace {
std::optional<std::uint64_t> gain(std::optional<std::uint64_t> prev, std::optional<std::uint64_t> now) {
  if (!prev || !now || *now < *prev) return std::nullopt;
  return *now - *prev;
}

// Reads a file whose absence only means that its controller is off here.
std::optional<std::string_view> read_optional(KeptFile& file, bool& absent, const Dir& dir, std::span<char> scratch) {
  if (absent) return std::nullopt;
  auto text = file.read_from(dir, scratch);
  if (text) return *text;
  absent = true;
  return std::nullopt;
}
}  // namespace

IoTotals parse_io_stat(std::string_view text) {
  IoTotals totals;
  parse::for_each_line(text, [&](std::string_view line) {
    const auto value = [&](std::string_view key) -> std::optional<std::uint64_t> {
      const auto at = line.find(key);
      if (at == std::string_view::npos) return std::nullopt;
      const auto rest = line.substr(at + key.size());
      return parse::u64(rest.substr(0, rest.find(' ')));
    };
    const auto read = value(" rbytes="), write = value(" wbytes=");
    if (!read || !write) return;
    totals.read_bytes += *read;
    totals.write_bytes += *write;
  });
  return totals;
}

void CgroupCollector::read(CgroupReadings& out, const Clock& clock, double cores, std::span<char> scratch) {
  out_ = &out;
  used_ = 0;
  ++tick_;
  dead_usage_us_.clear();
  tree_.refresh();
  const MonoTime now = clock.mono();
  // Twice what the cores could do since the tick before: a counter beyond that did not begin within the interval.
  newborn_limit_us_ = tick_ > 1 ? 2e6 * cores * seconds(now - last_at_) : 0;
  last_at_ = now;

  read_node(tree_.top(), nullptr, clock, scratch);
  out.total_usage_us = tree_.top().usage_us;
  out.total_usage_delta_us = tree_.top().usage_delta_us;

  for (auto it = states_.begin(); it != states_.end();) {
    State& state = it->second;
    if (state.tick == tick_) {
      ++it;
      continue;
    }
    WorkloadReading& ended = used_ < out.workloads.size() ? out.workloads[used_] : out.workloads.emplace_back();
    ++used_;
    ended = std::move(state.last);
    ended.values.ended = true;
    ended.values.io_read_bytes.reset();
    ended.values.io_write_bytes.reset();
    ended.values.cpu_usage_us.reset();
    if (const auto usage = dead_usage_us_.find(it->first); usage != dead_usage_us_.end())
      ended.values.cpu_usage_us = usage->second;
    it = states_.erase(it);
  }
  out.workloads.resize(used_);
}

// Children before their parent: what the parent gained beyond them is then never too little.
void CgroupCollector::read_node(CgroupNode& node, CgroupNode* parent, const Clock& clock, std::span<char> scratch) {
  if (node.gone) return;
  if (!node.is_root)
    for (auto& child : node.children) read_node(*child, &node, clock, scratch);
  if (!read_usage(node, scratch) && parent != nullptr) {
    // Either the kernel has no such file here, or the cgroup went: ENODEV from a kept file, ENOENT from its directory.
    const auto id = parent->dir.inode_of(node.path.substr(node.path.rfind('/') + 1));
    node.gone = !id || *id != node.id;
  }
  if (node.gone) {
    parent->relist = true;
    if (node.is_root) parent->dead.push_back(node.id);
    parent->dead.insert(parent->dead.end(), node.dead.begin(), node.dead.end());  // a whole slice went
    return;
  }
  if (node.is_root) read_root(node, clock, scratch);
  // The kernel's own threads live in the top: what died below it cannot be told from them.
  if (!node.dead.empty() && parent != nullptr) settle_dead(node);
}

bool CgroupCollector::read_usage(CgroupNode& node, std::span<char> scratch) {
  const auto prev = node.usage_us;
  node.usage_delta_us.reset();
  auto text = node.files.cpu.read_from(node.dir, scratch);
  if (!text) {
    node.usage_us.reset();
    return false;
  }
  node.usage_us = parse::keyed_u64(*text, "usage_usec");
  node.usage_delta_us = gain(prev, node.usage_us);
  if (!prev && node.born && node.usage_us && static_cast<double>(*node.usage_us) <= newborn_limit_us_)
    node.usage_delta_us = node.usage_us;
  return true;
}

void CgroupCollector::read_root(CgroupNode& node, const Clock& clock, std::span<char> scratch) {
  WorkloadReading& reading = used_ < out_->workloads.size() ? out_->workloads[used_] : out_->workloads.emplace_back();
  ++used_;
  State& state = states_[node.id];
  const bool first = state.tick == 0;
  const bool newborn = first && node.usage_delta_us.has_value();

  reading.path = node.path;
  WorkloadValues& values = reading.values;
  values.cgroup_id = node.id;
  values.kind = node.identity->kind;
  values.name = node.identity->name;
  values.ended = false;
  values.energy_uj.reset();
  reading.raw.cpu_usage_us = node.usage_us;
  values.cpu_usage_us = node.usage_delta_us;

  CgroupFiles& files = node.files;
  auto text = read_optional(files.memory, files.no_memory, node.dir, scratch);
  values.memory_bytes = text ? parse::u64(parse::trim(*text)) : std::nullopt;
  text = read_optional(files.pids, files.no_pids, node.dir, scratch);
  values.pids = text ? parse::u64(parse::trim(*text)) : std::nullopt;

  text = read_optional(files.io, files.no_io, node.dir, scratch);
  reading.raw.io.reset();
  if (text) reading.raw.io = parse_io_stat(*text);
  const auto& before = state.last.raw.io;
  values.io_read_bytes.reset();
  values.io_write_bytes.reset();
  if (reading.raw.io && (before || newborn)) {
    const IoTotals zero;
    const IoTotals& from = before ? *before : zero;
    values.io_read_bytes = gain(from.read_bytes, reading.raw.io->read_bytes);
    values.io_write_bytes = gain(from.write_bytes, reading.raw.io->write_bytes);
  }

  reading.raw.pressure = files.psi.read_from(node.dir, scratch);
  const MonoTime at = clock.mono();
  values.pressure = first ? Pressure{} : mean_pressure(state.last.raw.pressure, reading.raw.pressure, at - state.at);
  state.last_delta_us = values.cpu_usage_us.value_or(0);
  state.at = at;
  state.tick = tick_;
  state.last = reading;
}

// Dead children = parent - living.
void CgroupCollector::settle_dead(CgroupNode& node) {
  if (!node.usage_delta_us) return;
  std::uint64_t left = *node.usage_delta_us;
  for (const auto& child : node.children)
    if (!child->gone) left -= std::min(left, child->usage_delta_us.value_or(0));
  // Several may have gone at once; what they used together is split as they used it the interval before.
  std::vector<std::uint64_t> weights;
  for (const auto id : node.dead) {
    const auto state = states_.find(id);
    weights.push_back(state == states_.end() ? 0 : state->second.last_delta_us + 1);
  }
  const auto shares = split_exactly(left, weights);
  for (std::size_t i = 0; i < node.dead.size(); ++i) dead_usage_us_[node.dead[i]] += shares[i];
}

}  // namespace wattle::agent
