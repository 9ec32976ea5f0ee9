// maybe_file: a kernel file that is missing if its cgroup controller is off. Tries again every kRetry.
// Cost     1 pread per read;  Threads  single owner
#pragma once

#include <chrono>
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
    if (auto text = file_.read_from(dir, scratch)) return *text;
    retry_at_ = now + kRetry;
    return std::nullopt;
  }

 private:
  static constexpr std::chrono::seconds kRetry{30};
  KeptFile file_;
  MonoTime retry_at_{Duration::min()};
};

}  // namespace wattle::agent
