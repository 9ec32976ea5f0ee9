// kernel_tree: cgroup files of a small tree in a temporary folder, written by the kernel's own rules
// (kernel/sched/core.c, tg_set_cfs_bandwidth): a burst above quota is EINVAL, and so is a quota below 1 ms; cpu.max
// keeps its period when only a quota is written.
#pragma once

#include <doctest/doctest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

#include "actuator/cgroup_limits.hpp"
#include "actuator/os.hpp"

namespace wattle::actuator::test {

inline std::string text_of(const std::string& path) {
  std::ifstream in(path);
  std::stringstream all;
  all << in.rdbuf();
  return all.str();
}

inline void overwrite(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::trunc) << text;
}

// Applies the write as the kernel does; returns 0 or an error number.
inline int kernel_takes(const std::string& path, const std::string& text) {
  const auto value = parse_limit(text);
  if (!value) return EINVAL;
  const std::string folder = path.substr(0, path.rfind('/') + 1), name = path.substr(path.rfind('/') + 1);
  const bool v2 = name.starts_with("cpu.max");
  const std::string max = v2 ? "max" : "-1";
  if (name == "cpu.max" || name == "cpu.cfs_quota_us") {
    const auto burst = parse_limit(text_of(folder + (v2 ? "cpu.max.burst" : "cpu.cfs_burst_us")));
    if (*value < kLeastQuota_us || (burst && *burst > *value)) return EINVAL;
    const std::string quota = *value == kUnlimited ? max : std::to_string(*value);
    const auto period = parse_period_us(text);
    overwrite(path, v2 ? quota + " " + std::to_string(period ? *period : *parse_period_us(text_of(path))) : quota);
    return 0;
  }
  if (name == "cpu.max.burst" || name == "cpu.cfs_burst_us") {
    const auto quota = parse_limit(text_of(folder + (v2 ? "cpu.max" : "cpu.cfs_quota_us")));
    if (*value > *quota) return EINVAL;
    overwrite(path, std::to_string(*value));
    return 0;
  }
  overwrite(path, *value == kUnlimited ? "max" : std::to_string(*value / 4096 * 4096));
  return 0;
}

class KernelOs : public Os {
 public:
  ssize_t put(int fd, std::string_view text) override {
    std::array<char, PATH_MAX> path{};
    const auto n = ::readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), path.data(), path.size() - 1);
    REQUIRE(n > 0);
    if (std::string_view(path.data()).ends_with(" (deleted)")) return -ENODEV;
    const int refused = kernel_takes(path.data(), std::string(text));
    return refused == 0 ? static_cast<ssize_t>(text.size()) : -refused;
  }
};

class KernelTree {
 public:
  explicit KernelTree(bool v2 = true) : v2_(v2) {
    // In memory, like /run: a thousand processes that sync to a disk would be slow and test nothing more.
    const bool memory = ::access("/dev/shm", W_OK) == 0;
    const auto folder = memory ? std::filesystem::path("/dev/shm") : std::filesystem::temp_directory_path();
    std::string pattern = (folder / "wattle-actuator-XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
    std::filesystem::create_directories(path_ + "/proc/self");
    std::filesystem::create_directories(root());
    overwrite(path_ + "/proc/self/mountinfo", v2_ ? "1 2 0:3 / /cgroup rw - cgroup2 cgroup2 rw\n"
                                                  : "1 2 0:3 / /cgroup rw - cgroup cgroup rw,cpu,cpuacct\n");
  }
  KernelTree(const KernelTree&) = delete;
  KernelTree& operator=(const KernelTree&) = delete;
  ~KernelTree() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  void add(const std::string& cgroup, const std::string& quota, const std::string& burst,
           const std::string& high) const {
    const std::string folder = root() + cgroup + "/";
    std::filesystem::create_directories(folder);
    overwrite(folder + (v2_ ? "cpu.max" : "cpu.cfs_quota_us"), v2_ ? quota + " 100000" : quota);
    overwrite(folder + (v2_ ? "cpu.max.burst" : "cpu.cfs_burst_us"), burst);
    if (v2_) overwrite(folder + "memory.high", high);
    if (v2_) overwrite(folder + "memory.low", "0");
    if (!v2_) overwrite(folder + "cpu.cfs_period_us", "100000");
  }
  void remove(const std::string& cgroup) const { std::filesystem::remove_all(root() + cgroup); }
  std::string file(const std::string& cgroup, Knob knob) const {
    const std::array<const char*, 4> v2{"cpu.max", "cpu.max.burst", "memory.high", "memory.low"},
        v1{"cpu.cfs_quota_us", "cpu.cfs_burst_us", "memory.high", "memory.low"};
    return root() + cgroup + "/" + (v2_ ? v2 : v1)[static_cast<std::size_t>(knob)];
  }
  std::string get(const std::string& cgroup, Knob knob) const { return text_of(file(cgroup, knob)); }
  // A write by another program; false if the kernel refused it.
  bool put(const std::string& cgroup, Knob knob, const std::string& text) const {
    return kernel_takes(file(cgroup, knob), text) == 0;
  }
  CgroupMounts mounts() const {
    auto mounts = CgroupMounts::open_(path_);
    REQUIRE(mounts);
    return std::move(*mounts);
  }
  const std::string& path() const { return path_; }
  std::string root() const { return path_ + "/cgroup"; }
  std::string state() const { return path_ + "/state"; }

 private:
  bool v2_;
  std::string path_;
};

}  // namespace wattle::actuator::test
