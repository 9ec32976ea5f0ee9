#include "agent/collect/procfs.hpp"

#include <sys/statvfs.h>

#include <algorithm>
#include <array>

#include "common/parse.hpp"

namespace wattle::agent {

namespace {
// Removes the next field from `text` and returns it.
std::string_view next_field(std::string_view& text) {
  const auto begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) {
    text = {};
    return {};
  }
  const auto end = text.find_first_of(" \t", begin);
  const auto field = text.substr(begin, end == std::string_view::npos ? end : end - begin);
  text = end == std::string_view::npos ? std::string_view{} : text.substr(end);
  return field;
}

IoCounters& slot(std::vector<IoCounters>& out, std::size_t used) {
  if (used == out.size()) out.emplace_back();
  return out[used];
}

constexpr std::uint64_t kMostMegabits = 10'000'000;  // unknown speeds are reported as -1 or 2^32 - 1
constexpr Duration kJudgeAgain = std::chrono::seconds(60);
constexpr std::uint64_t kMostTicks = std::uint64_t{1} << 43;
constexpr std::size_t kMostCpus = 1 << 16;
constexpr std::uint64_t kSectorBytes = 512;  // unit of /proc/diskstats, independent of the disk's sectors
}  // namespace

std::optional<CpuCounters> parse_stat(std::string_view text, std::uint64_t user_hz) {
  if (user_hz == 0) return std::nullopt;
  CpuCounters counters;
  bool found = false, malformed = false, stolen = false;
  const std::uint64_t us_per_tick = 1'000'000 / user_hz;
  // Stolen time is the eighth value.
  const auto stolen_ticks = [](std::string_view rest, int before) {
    for (int i = 0; i < before; ++i) next_field(rest);
    return parse::u64(next_field(rest)).value_or(0);
  };
  parse::for_each_line(text, [&](std::string_view line) {
    if (!line.starts_with("cpu")) return;
    line.remove_prefix(3);
    if (!line.starts_with(' ')) {
      const auto number = parse::u64(next_field(line));
      if (!number) return;
      ++counters.cores;
      if (!stolen || *number >= kMostCpus) return;
      if (counters.stolen_us.size() <= *number) counters.stolen_us.resize(*number + 1);
      counters.stolen_us[*number] = std::min(stolen_ticks(line, 7), kMostTicks) * us_per_tick;
      return;
    }
    std::array<std::uint64_t, 7> ticks{};  // user nice system idle iowait irq softirq
    for (auto& value : ticks) {
      const auto field = parse::u64(next_field(line));
      if (!field || *field > kMostTicks) {
        malformed = true;
        return;
      }
      value = *field;
    }
    stolen = stolen_ticks(line, 0) > 0;
    counters.busy_us = (ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6]) * us_per_tick;
    counters.idle_us = (ticks[3] + ticks[4]) * us_per_tick;
    found = true;
  });
  if (!found || malformed || counters.cores == 0) return std::nullopt;
  return counters;
}

std::optional<MemoryReading> parse_meminfo(std::string_view text) {
  const auto kib = [&](std::string_view key) -> std::optional<std::uint64_t> {
    std::optional<std::uint64_t> found;
    parse::for_each_line(text, [&](std::string_view line) {
      if (found || !line.starts_with(key)) return;
      line.remove_prefix(key.size());
      found = parse::u64(next_field(line));
      if (found && (*found > (std::uint64_t{1} << 53) || next_field(line) != "kB")) found.reset();
    });
    return found;
  };
  const auto total = kib("MemTotal:"), available = kib("MemAvailable:");
  if (!total || !available || *available > *total) return std::nullopt;
  return MemoryReading{*total * 1024, *available * 1024};
}

void parse_net_dev(std::string_view text, const Accept& accept, std::vector<IoCounters>& out) {
  std::size_t used = 0;
  parse::for_each_line(text, [&](std::string_view line) {
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) return;
    const auto name = parse::trim(line.substr(0, colon));
    line.remove_prefix(colon + 1);
    std::array<std::optional<std::uint64_t>, 9> numbers;
    for (auto& number : numbers) number = parse::u64(next_field(line));
    if (name.empty() || !numbers[0] || !numbers[8] || !accept(name)) return;
    IoCounters& one = slot(out, used++);
    one.name.assign(name);
    one.in_bytes = *numbers[0];
    one.out_bytes = *numbers[8];
  });
  out.resize(used);
}

std::string multipath_head(std::string_view name) {
  std::string_view rest = name;
  const auto number = [&](std::string_view before) {
    if (!rest.starts_with(before)) return false;
    rest.remove_prefix(before.size());
    const auto digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
    rest.remove_prefix(digits);
    return digits > 0;
  };
  if (!number("nvme")) return "";
  const std::string subsystem(name.substr(0, name.size() - rest.size()));
  if (!number("c")) return "";
  const std::string space(rest);
  return number("n") && rest.empty() ? subsystem + space : "";
}

void parse_diskstats(std::string_view text, const Accept& accept, std::vector<IoCounters>& out) {
  std::size_t used = 0;
  std::vector<IoCounters> paths;  // by the name of their head
  parse::for_each_line(text, [&](std::string_view line) {
    next_field(line);  // major
    next_field(line);  // minor
    const auto name = next_field(line);
    std::array<std::optional<std::uint64_t>, 7> numbers;
    for (auto& number : numbers) number = parse::u64(next_field(line));
    if (name.empty() || !numbers[2] || !numbers[6]) return;
    if (std::string head = multipath_head(name); !head.empty()) {
      paths.push_back({std::move(head), *numbers[2] * kSectorBytes, *numbers[6] * kSectorBytes});
      return;
    }
    if (!accept(name)) return;
    IoCounters& one = slot(out, used++);
    one.name.assign(name);
    one.in_bytes = *numbers[2] * kSectorBytes;
    one.out_bytes = *numbers[6] * kSectorBytes;
  });
  out.resize(used);
  if (paths.empty()) return;
  for (IoCounters& head : out) {
    if (head.in_bytes != 0 || head.out_bytes != 0) continue;
    for (const IoCounters& path : paths) {
      if (path.name != head.name) continue;
      head.in_bytes += path.in_bytes;
      head.out_bytes += path.out_bytes;
    }
  }
}

std::optional<std::uint64_t> parse_snmp(std::string_view text) {
  std::string_view header;
  std::optional<std::uint64_t> found;
  parse::for_each_line(text, [&](std::string_view line) {
    if (!line.starts_with("Tcp:")) return;
    if (header.empty()) {
      header = line;
      return;
    }
    while (!header.empty()) {
      const auto name = next_field(header);
      const auto value = next_field(line);
      if (name == "CurrEstab") found = parse::u64(value);
    }
  });
  return found;
}

std::optional<double> mean_cores(const CpuCounters& prev, const CpuCounters& now, Duration interval) {
  if (interval <= Duration::zero() || now.busy_us < prev.busy_us) return std::nullopt;
  const double cores = static_cast<double>(now.busy_us - prev.busy_us) / (seconds(interval) * 1e6);
  return std::min(cores, static_cast<double>(std::max(prev.cores, now.cores)));
}

std::optional<IoRate> mean_rate(const std::vector<IoCounters>& prev, const std::vector<IoCounters>& now,
                                Duration interval) {
  if (interval <= Duration::zero()) return std::nullopt;
  IoRate rate;
  for (std::size_t i = 0; i < now.size(); ++i) {
    const auto& one = now[i];
    // The kernel's order is stable, so the same position is nearly always the right one.
    auto before = i < prev.size() && prev[i].name == one.name
                      ? prev.begin() + static_cast<std::ptrdiff_t>(i)
                      : std::find_if(prev.begin(), prev.end(), [&](const auto& p) { return p.name == one.name; });
    if (before == prev.end()) continue;
    if (one.in_bytes >= before->in_bytes) rate.in_bytes_per_s += static_cast<double>(one.in_bytes - before->in_bytes);
    if (one.out_bytes >= before->out_bytes)
      rate.out_bytes_per_s += static_cast<double>(one.out_bytes - before->out_bytes);
  }
  rate.in_bytes_per_s /= seconds(interval);
  rate.out_bytes_per_s /= seconds(interval);
  return rate;
}

bool looks_virtual_interface(std::string_view name) {
  static constexpr std::array<std::string_view, 19> kPrefixes{
      "lo",    "veth",  "docker", "cni", "br-", "br0", "virbr", "flannel", "cali", "tunl",
      "vxlan", "dummy", "ifb",    "tap", "tun", "wg",  "kube-", "cilium",  "lxc"};
  return std::any_of(kPrefixes.begin(), kPrefixes.end(), [&](auto prefix) { return name.starts_with(prefix); });
}

bool looks_whole_disk(std::string_view name) {
  static constexpr std::array<std::string_view, 11> kNever{"loop", "ram", "zram", "dm-",    "md", "sr",
                                                           "fd",   "nbd", "drbd", "bcache", "zd"};
  for (const auto prefix : kNever)
    if (name.starts_with(prefix)) return false;
  const auto digits = [](char c) { return c >= '0' && c <= '9'; };
  if (name.starts_with("nvme") || name.starts_with("mmcblk")) {
    // nvme0c1n1 is one path to nvme0n1.
    if (name.starts_with("nvme") && name.find('c', 4) != std::string_view::npos) return false;
    const auto p = name.rfind('p');
    return p == std::string_view::npos || p + 1 == name.size() ||
           !std::all_of(name.begin() + static_cast<std::ptrdiff_t>(p) + 1, name.end(), digits);
  }
  return name.empty() || !digits(name.back());
}

Result<Procfs> Procfs::open_(const Roots& roots, std::uint64_t user_hz) {
  WATTLE_TRY(Dir proc, Dir::open_(roots.proc));
  std::optional<Dir> sys;
  if (auto opened = Dir::open_(roots.sys)) sys.emplace(std::move(*opened));
  return Procfs(std::move(proc), std::move(sys), roots.captured ? "" : "/", roots.own_proc(), user_hz);
}

namespace {
bool net_of_first(const Dir& proc, bool own_proc) { return !own_proc && proc.exists("1/net/dev"); }
}  // namespace

std::string net_folder(const Dir& proc, bool own_proc) { return net_of_first(proc, own_proc) ? "1/net" : "net"; }

Procfs::Procfs(Dir proc, std::optional<Dir> sys, std::string disk_path, bool own_proc, std::uint64_t user_hz)
    : proc_(std::move(proc)),
      sys_(std::move(sys)),
      disk_path_(std::move(disk_path)),
      user_hz_(user_hz),
      stat_("stat"),
      meminfo_("meminfo"),
      net_dev_(net_of_first(proc_, own_proc) ? "1/net/dev" : "net/dev", Render::whole),
      diskstats_("diskstats", Render::whole),
      snmp_(net_of_first(proc_, own_proc) ? "1/net/snmp" : "net/snmp"),
      snmp_path_(net_folder(proc_, own_proc) + "/snmp") {}

namespace {
// Traffic of a virtual function's representor on a NIC's switch ("pf0vf3", "pf0sf8") is in the counters of the NIC's
// own port ("p0"), too.
bool is_representor(const Dir& net, const std::string& name) {
  const auto port = net.read_file(name + "/phys_port_name", 64);
  if (!port || port->find("pf") == std::string::npos) return false;
  return port->find("vf") != std::string::npos || port->find("sf") != std::string::npos;
}
}  // namespace

bool Procfs::real_interface(std::string_view name) {
  if (const auto known = interfaces_.find(name); known != interfaces_.end()) return known->second;
  // An interface with a device is real. A machine without any devices (a container's network) is judged by names.
  bool any_device = false, this_device = false;
  if (auto net = sys_ ? sys_->open_dir("class/net") : Result<Dir>(fail(Errc::not_found, "class/net", "no /sys")); net) {
    if (auto entries = net->list(); entries) {
      for (const auto& entry : *entries) {
        if (any_device && entry.name != name) continue;
        // Traffic of a port whose master is a device, too (netvsc, net_failover), is in the master's counters. A bond
        // or a bridge is not a device, so its ports count.
        const bool device = net->exists(entry.name + "/device") && !net->exists(entry.name + "/master/device") &&
                            !is_representor(*net, entry.name);
        any_device = any_device || device;
        this_device = this_device || (device && entry.name == name);
      }
    }
  }
  if (any_device != any_device_) interfaces_.clear();
  any_device_ = any_device;
  const bool real = any_device ? this_device : !looks_virtual_interface(name);
  interfaces_.emplace(std::string(name), real);
  return real;
}

bool Procfs::real_disk(std::string_view name) {
  if (const auto known = disks_.find(name); known != disks_.end()) return known->second;
  std::string in_sys(name);
  std::replace(in_sys.begin(), in_sys.end(), '/', '!');  // as sysfs does: cciss/c0d0
  static constexpr std::array<std::string_view, 10> kStacked{"loop", "ram", "zram", "dm-",    "md",
                                                             "sr",   "fd",  "drbd", "bcache", "zd"};
  bool real = std::none_of(kStacked.begin(), kStacked.end(), [&](auto prefix) { return name.starts_with(prefix); });
  if (real && sys_ && sys_->exists("block")) {
    // Each path of a multipath disk (nvme0c0n1) is hidden; a disk on top of others has slaves.
    const auto disk = sys_->open_dir("block/" + in_sys);
    const auto hidden = disk ? disk->read_file("hidden") : Result<std::string>("");
    const auto slaves = disk ? disk->open_dir("slaves") : Result<Dir>(fail(Errc::not_found, in_sys, "no such disk"));
    const auto below = slaves ? slaves->list() : Result<std::vector<DirEntry>>(std::vector<DirEntry>());
    real = disk && !(hidden && hidden->starts_with('1')) && (!below || below->empty());
  } else if (real) {
    real = looks_whole_disk(name);
  }
  disks_.emplace(std::string(name), real);
  return real;
}

double Procfs::link_bytes_per_s(const std::vector<IoCounters>& interfaces) const {
  double sum = 0;
  for (const IoCounters& each : interfaces) {
    const auto text = sys_ ? sys_->read_file("class/net/" + each.name + "/speed") : Result<std::string>("");
    const auto megabits = text ? parse::u64(parse::trim(*text)) : std::nullopt;  // -1 while it is down
    if (megabits && *megabits <= kMostMegabits) sum += static_cast<double>(*megabits) * 1e6 / 8;
  }
  return sum;
}

void Procfs::read(NodeCounters& now, const Clock& clock, std::span<char> scratch,
                  std::vector<std::pair<std::string, Error>>& errors) {
  const auto blank = [&](std::string part, const char* file, Result<std::string_view>& text) {
    if (!text)
      errors.emplace_back(std::move(part), std::move(text.error()));
    else
      errors.emplace_back(std::move(part), Error{Errc::malformed, proc_.path() + "/" + file,
                                                 "unexpected format of this kernel file", ""});
  };
  const Accept interface = [this](std::string_view name) { return real_interface(name); };
  const Accept disk = [this](std::string_view name) { return real_disk(name); };

  auto text = stat_.read_from(proc_, scratch);
  now.cpu_at = clock.mono();
  now.cpu = text ? parse_stat(*text, user_hz_) : std::nullopt;
  if (!now.cpu) blank("cpu", "stat", text);

  text = meminfo_.read_from(proc_, scratch);
  now.memory = text ? parse_meminfo(*text) : std::nullopt;
  if (!now.memory) blank("memory", "meminfo", text);

  text = net_dev_.read_from(proc_, scratch);
  now.net_at = clock.mono();
  if (now.net_at - judged_at_ >= kJudgeAgain) {  // an interface gets its master after it appears
    judged_at_ = now.net_at;
    std::erase_if(interfaces_, [](const auto& each) { return each.second; });
  }
  if (text) {
    if (!now.interfaces) now.interfaces.emplace();
    parse_net_dev(*text, interface, *now.interfaces);
  } else {
    now.interfaces.reset();
    blank("net", "net/dev", text);
  }

  text = diskstats_.read_from(proc_, scratch);
  now.disk_at = clock.mono();
  if (text) {
    if (!now.disks) now.disks.emplace();
    parse_diskstats(*text, disk, *now.disks);
  } else {
    now.disks.reset();
    blank("disk", "diskstats", text);
  }

  text = snmp_.read_from(proc_, scratch);
  now.tcp_established = text ? parse_snmp(*text) : std::nullopt;
  if (!now.tcp_established)
    blank("tcp", "net/snmp", text);
  else
    *now.tcp_established += others_.read(proc_, snmp_path_, clock.mono(), scratch);

  now.disk_used_ratio.reset();
  struct statvfs fs {};
  if (!disk_path_.empty() && ::statvfs(disk_path_.c_str(), &fs) == 0) {
    // Same as df: blocks reserved for root are neither used nor available.
    const double used = static_cast<double>(fs.f_blocks - fs.f_bfree);
    const double usable = used + static_cast<double>(fs.f_bavail);
    if (usable > 0) now.disk_used_ratio = used / usable;
  }
}

}  // namespace wattle::agent
