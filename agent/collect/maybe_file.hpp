// maybe_file: a kernel file that is missing if its cgroup controller is off, or if a hierarchy lacks the cgroup. Tries
// again after a second, and after each further failure twice as long, up to 32 s.
// Cost     1 pread per read;  Threads  single owner
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "agent/collect/kept_file.hpp"
#include "common/clock.hpp"

namespace wattle::agent {

class MaybeFile {
 public:
  explicit MaybeFile(const char* name) : file_(name) {}
  bool is_open() const { return file_.is_open(); }
  void close() { file_.close(); }
  bool is_absent(MonoTime now) const { return now < retry_at_; }
  std::optional<std::string_view> read_from(const Dir& dir, std::span<char> scratch, MonoTime now) {
    if (is_absent(now)) return std::nullopt;
    auto text = file_.read_from(dir, scratch);
    if (!text) {
      miss(now);
      return std::nullopt;
    }
    misses_ = 0;
    return *text;
  }
  // Records that the file cannot be opened because its directory is missing.
  void miss(MonoTime now) {
    retry_at_ = now + std::chrono::seconds(1 << misses_);
    if (misses_ < kMost_misses) ++misses_;
  }

 private:
  static constexpr std::uint8_t kMost_misses = 5;  // 32 s
  KeptFile file_;
  MonoTime retry_at_{Duration::min()};
  std::uint8_t misses_ = 0;
};

}  // namespace wattle::agent
