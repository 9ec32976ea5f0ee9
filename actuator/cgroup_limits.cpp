#include "actuator/cgroup_limits.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "common/cgroup_path.hpp"
#include "common/mounts.hpp"
#include "common/parse.hpp"

namespace wattle::actuator {

namespace {
constexpr std::size_t kSmall = 256;

const char* file_of(Seam seam, Knob knob) {
  const bool v2 = seam == Seam::cgroup2;
  switch (knob) {
    case Knob::quota_us:
      return v2 ? "cpu.max" : "cpu.cfs_quota_us";
    case Knob::burst_us:
      return v2 ? "cpu.max.burst" : "cpu.cfs_burst_us";
    case Knob::high_bytes:
      return v2 ? "memory.high" : nullptr;
    case Knob::low_bytes:
      return v2 ? "memory.low" : nullptr;
  }
  return nullptr;
}

std::string text_of(Seam seam, std::int64_t value) {
  if (value == kUnlimited) return seam == Seam::cgroup2 ? "max\n" : "-1\n";
  return std::to_string(value) + "\n";
}

bool has_controller(const Mount& mount, std::string_view controller) {
  const auto all = parse::split(mount.options, ',');
  return std::ranges::find(all, controller) != all.end();
}

std::optional<Dir> first_open(const std::vector<Mount>& mounts, const std::string& prefix,
                              std::string_view controller) {
  for (const Mount& mount : mounts) {
    if (!controller.empty() && !has_controller(mount, controller)) continue;
    if (auto dir = Dir::open_(prefix + mount.point)) return std::move(*dir);
  }
  return std::nullopt;
}

Error no_controller(const std::string& path, const std::string& name) {
  return {Errc::unsupported, path, "has no " + name + " controller",
          "enable it for the parent: echo +" + name + " >> cgroup.subtree_control"};
}

Error only_v2(const std::string& path) {
  return {Errc::unsupported, path, "is in cgroup v1: memory.high and memory.low need cgroup v2",
          "boot with systemd.unified_cgroup_hierarchy=1"};
}

std::string below_mount(const std::string& path) {
  return path.substr(std::min(path.find_first_not_of('/'), path.size()));
}
}  // namespace

Result<CgroupMounts> CgroupMounts::open_(const std::string& prefix) {
  const std::string table = prefix + "/proc/self/mountinfo";
  WATTLE_TRY(const std::string text, read_file(table));
  CgroupMounts out;
  out.v2 = first_open(parse_mountinfo(text, "cgroup2"), prefix, "");
  const auto v1 = parse_mountinfo(text, "cgroup");
  out.cpu = first_open(v1, prefix, "cpu");
  out.cpuacct = first_open(v1, prefix, "cpuacct");
  if (!out.v2 && !out.cpu)
    return fail(Errc::not_found, table, "neither cgroup2 nor a cgroup of v1 with the CPU controller is mounted",
                "mount one: mount -t cgroup2 none /sys/fs/cgroup");
  return out;
}

std::optional<std::int64_t> parse_limit(std::string_view text) {
  const auto words = parse::fields(parse::trim(text));
  if (words.empty() || words.size() > 2) return std::nullopt;
  if (words[0] == "max" || words[0] == "-1") return kUnlimited;
  const auto number = parse::integer<std::int64_t>(words[0]);
  return number && *number >= 0 ? number : std::nullopt;
}

std::optional<std::int64_t> parse_period_us(std::string_view text) {
  const auto words = parse::fields(parse::trim(text));
  if (words.size() != 2) return std::nullopt;
  const auto number = parse::integer<std::int64_t>(words[1]);
  return number && *number > 0 ? number : std::nullopt;
}

CgroupLimits::CgroupLimits(CgroupMounts mounts, Os& os)
    : mounts_(std::move(mounts)), os_(&os), page_bytes_(std::max(1L, ::sysconf(_SC_PAGESIZE))) {}

Result<Target> CgroupLimits::find(const std::string& path) {
  const std::string below = below_mount(normal_cgroup_path(path).value_or(""));
  if (below.empty())
    return fail(Errc::malformed, path, "is not the path of a cgroup below the root",
                "for example /system.slice/a.service");
  std::optional<Error> last;
  std::optional<Target> memory_only;
  for (const Seam seam : {Seam::cgroup2, Seam::cgroup1}) {
    const auto& mount = seam == Seam::cgroup2 ? mounts_.v2 : mounts_.cpu;
    if (!mount) continue;
    auto dir = mount->open_dir(below);
    if (!dir) {
      if (!last || last->code == Errc::not_found) last = dir.error();
      continue;
    }
    if (dir->exists(file_of(seam, Knob::quota_us))) {
      WATTLE_TRY(const std::uint64_t id, dir->inode());
      return Target{seam, "/" + below, id};
    }
    // Protection needs only the memory controller. A v1 hierarchy with the CPU controller takes precedence.
    if (seam == Seam::cgroup2 && dir->exists(file_of(seam, Knob::low_bytes))) {
      WATTLE_TRY(const std::uint64_t id, dir->inode());
      memory_only = Target{seam, "/" + below, id};
    }
    last = no_controller(dir->path(), "cpu");
  }
  if (memory_only) return *memory_only;
  return tl::unexpected<Error>(std::move(*last));
}

Result<Dir> CgroupLimits::open_dir(const Target& target) const {
  const auto& mount = target.seam == Seam::cgroup2 ? mounts_.v2 : mounts_.cpu;
  if (!mount) return fail(Errc::not_found, target.name, "its hierarchy is not mounted");
  WATTLE_TRY(Dir dir, mount->open_dir(below_mount(target.name)));
  WATTLE_TRY(const std::uint64_t id, dir.inode());
  if (id != target.id) return fail(Errc::not_found, dir.path(), "is now another cgroup");
  return dir;
}

Status CgroupLimits::require(const Target& target, Knob knob) const {
  WATTLE_TRY(const Dir dir, open_dir(target));
  const char* name = file_of(target.seam, knob);
  if (name == nullptr) return tl::unexpected<Error>(only_v2(dir.path()));
  if (dir.exists(name)) return {};
  return tl::unexpected<Error>(no_controller(dir.path(), std::string_view(name).starts_with("cpu") ? "cpu" : "memory"));
}

Result<AncestorProtection> CgroupLimits::protection_above(const Target& target) const {
  AncestorProtection least;
  for (auto slash = target.name.find('/', 1); slash != std::string::npos; slash = target.name.find('/', slash + 1)) {
    const std::string path = target.name.substr(0, slash);
    WATTLE_TRY(const Dir dir, mounts_.v2->open_dir(below_mount(path)));
    WATTLE_TRY(const std::string text, dir.read_file("memory.low", kSmall));
    const auto bytes = parse_limit(text);
    if (!bytes) return fail(Errc::malformed, dir.path() + "/memory.low", "is not a limit");
    if (*bytes < least.bytes) least = {*bytes, path};
  }
  return least;
}

Result<const Fd*> CgroupLimits::file(const Target& target, Knob knob) {
  const char* name = file_of(target.seam, knob);
  if (target.seam == Seam::cgroup1 && name == nullptr) return tl::unexpected<Error>(only_v2(target.name));
  if (target.seam == Seam::unit || name == nullptr)
    return fail(Errc::unsupported, target.name, "does not support this limit on this machine");
  if (const auto kept = kept_.find(target); kept != kept_.end()) {
    const Fd& fd = kept->second[static_cast<std::size_t>(knob)];
    if (fd.valid()) return &fd;
  }
  WATTLE_TRY(const Dir dir, open_dir(target));
  Fd fd(::openat(dir.fd(), name, O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!fd.valid()) {
    const int why = errno;
    // The cgroup still exists, so the kernel has no such file.
    if (why == ENOENT && open_dir(target)) return fail(Errc::unsupported, dir.path() + "/" + name, "does not exist");
    return fail_errno(why, dir.path() + "/" + name,
                      why == EACCES ? "run the actuator as root, the owner of the file" : "");
  }
  Fd& slot = kept_[target][static_cast<std::size_t>(knob)];
  slot = std::move(fd);
  return &slot;
}

Result<std::int64_t> CgroupLimits::read(const Target& target, Knob knob, std::optional<std::int64_t>) {
  WATTLE_TRY(const Fd* fd, file(target, knob));
  std::array<char, kSmall> buffer{};
  const ssize_t n = ::pread(fd->get(), buffer.data(), buffer.size(), 0);
  const std::string subject = target.name + "/" + file_of(target.seam, knob);
  if (n < 0) return fail_errno(errno, subject);
  const auto value = parse_limit({buffer.data(), static_cast<std::size_t>(n)});
  if (!value) return fail(Errc::malformed, subject, "is not a limit");
  return *value;
}

Result<std::int64_t> CgroupLimits::period_us(const Target& target) {
  const bool v2 = target.seam == Seam::cgroup2;
  WATTLE_TRY(const Dir dir, open_dir(target));
  WATTLE_TRY(const std::string text, dir.read_file(v2 ? "cpu.max" : "cpu.cfs_period_us", kSmall));
  const auto period = v2 ? parse_period_us(text) : parse_limit(text);
  if (!period || *period <= 0 || *period == kUnlimited)
    return fail(Errc::malformed, dir.path(), "contains no period of the CPU quota");
  return *period;
}

Status CgroupLimits::write(const Target& target, Knob knob, std::int64_t value) {
  WATTLE_TRY(const Fd* fd, file(target, knob));
  const std::string text = text_of(target.seam, value);
  const ssize_t n = os_->put(fd->get(), text);
  if (n == static_cast<ssize_t>(text.size())) return {};
  const std::string subject = target.name + "/" + file_of(target.seam, knob);
  const std::string what = "the kernel rejected " + std::string(parse::trim(text));
  if (n == -EINVAL) return fail(Errc::out_of_range, subject, what, "check its burst and its parent's quota");
  if (n < 0) return fail_errno(static_cast<int>(-n), subject);
  return fail(Errc::io, subject, what);
}

std::int64_t CgroupLimits::fitted(const Target&, Knob knob, std::int64_t value) const {
  if (value == kUnlimited) return value;
  if (knob == Knob::high_bytes || knob == Knob::low_bytes) return value / page_bytes_ * page_bytes_;
  return knob == Knob::quota_us ? std::max(value, kLeastQuota_us) : std::max<std::int64_t>(value, 0);
}

}  // namespace wattle::actuator
