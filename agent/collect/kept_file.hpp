// kept_file: a kernel file kept open between ticks, and reopened after an error. There is one for each file of each
// cgroup, so it is small: a static name and a descriptor.
// Errors   those of Dir::open_fd and of the read; their text names the file below the directory of that read
// Cost     1 pread per read (2 for `whole`);  Threads  single owner
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "common/dir.hpp"

namespace wattle::agent {

// once: the kernel renders the file in one read; whole: read until the end
enum class Render : std::uint8_t { once, whole };

class KeptFile {
 public:
  explicit KeptFile(const char* static_name, Render render = Render::once) : name_(static_name), render_(render) {}

  // The text points into `scratch`. An open file uses `dir` only for error texts.
  Result<std::string_view> read_from(const Dir& dir, std::span<char> scratch) {
    if (!is_open()) {
      WATTLE_TRY(file_, dir.open_fd(name_));
    }
    auto text =
        render_ == Render::once ? dir.read_once_into(file_, name_, scratch) : dir.read_into(file_, name_, scratch);
    if (!text) close();
    return text;
  }
  bool is_open() const { return file_.valid(); }
  void close() { file_ = Fd(); }

 private:
  const char* name_;
  Fd file_;
  Render render_;
};

}  // namespace wattle::agent
