#include "sim/profile/quota_group.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <utility>

#include "common/dir.hpp"
#include "common/mounts.hpp"
#include "common/parse.hpp"

namespace wattle::sim::profile {
namespace {

constexpr double kPeriodUs = 100'000;
constexpr std::size_t kMostBytes = 1 << 20;

// A kernel file takes a value in a single write.
Status put(const std::string& file, const std::string& text) {
  const Fd fd(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd.valid()) return fail_errno(errno, file);
  if (::write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) return fail_errno(errno, file);
  return {};
}

// Returns the cgroup mount whose children have the CPU controller.
Result<std::pair<std::string, bool>> cpu_mount() {
  WATTLE_TRY(const std::string table, read_file("/proc/self/mountinfo", kMostBytes));
  for (const Mount& mount : parse_mountinfo(table, "cgroup2")) {
    const auto on = read_file(mount.point + "/cgroup.subtree_control", kMostBytes);
    if (on && std::ranges::count(parse::fields(parse::trim(*on)), "cpu") > 0) return std::pair(mount.point, true);
  }
  for (const Mount& mount : parse_mountinfo(table, "cgroup"))
    if (std::ranges::count(parse::split(mount.options, ','), "cpu") > 0) return std::pair(mount.point, false);
  return fail(Errc::unsupported, "cgroups", "none with a CPU controller is mounted",
              "on cgroup v2: echo +cpu > cgroup.subtree_control, at its root");
}

}  // namespace

Result<QuotaGroup> QuotaGroup::make(const std::string& name) {
  WATTLE_TRY(const auto mount, cpu_mount());
  const std::string path = mount.first + "/" + name;
  if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) return fail_errno(errno, path, "run as root");
  WATTLE_TRY(const std::string members, read_file(path + "/cgroup.procs", kMostBytes));
  if (!members.empty()) return fail(Errc::conflict, path, "contains processes", "wait until that profile has ended");
  return QuotaGroup(path, mount.second);
}

QuotaGroup::QuotaGroup(QuotaGroup&& other) noexcept : path_(std::exchange(other.path_, {})), v2_(other.v2_) {}

QuotaGroup::~QuotaGroup() {
  if (path_.empty()) return;
  // A process killed a moment ago may not be gone yet.
  for (int look = 0; look < 100 && ::rmdir(path_.c_str()) != 0 && errno == EBUSY; ++look) ::usleep(20'000);
}

Status QuotaGroup::set(double cores) const {
  const auto quota_us = static_cast<std::int64_t>(std::llround(cores * kPeriodUs));
  if (v2_) return put(path_ + "/cpu.max", std::to_string(quota_us) + " " + std::to_string(std::llround(kPeriodUs)));
  WATTLE_CHECK(put(path_ + "/cpu.cfs_period_us", std::to_string(std::llround(kPeriodUs))));
  return put(path_ + "/cpu.cfs_quota_us", std::to_string(quota_us));
}

Result<Periods> QuotaGroup::periods() const {
  WATTLE_TRY(const std::string stat, read_file(path_ + "/cpu.stat", kMostBytes));
  return Periods{parse::keyed_u64(stat, "nr_periods").value_or(0), parse::keyed_u64(stat, "nr_throttled").value_or(0)};
}

}  // namespace wattle::sim::profile
