// held_file: a kernel file that is opened at start, because it may become inaccessible when capabilities are dropped.
// Errors   those of the read. An error closes the file only if it can be reopened: EINVAL and ENODATA are temporary,
//          and a device that was removed and added again has another file
// Cost     1 pread per read;  Threads  single owner
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "common/dir.hpp"

namespace wattle::agent {

class HeldFile {
 public:
  static Result<HeldFile> open_(const Dir& dir, const std::string& relative) {
    WATTLE_TRY(auto file, dir.open_file(relative));
    return HeldFile(std::move(file), relative);
  }
  // The text points into `scratch`.
  Result<std::string_view> read_from(const Dir& dir, std::span<char> scratch) {
    auto text = file_.read_once_into(scratch);
    if (text) return text;
    if (auto again = dir.open_file(relative_)) file_ = std::move(*again);
    return text;
  }
  const std::string& path() const { return file_.path(); }

 private:
  HeldFile(File file, std::string relative) : file_(std::move(file)), relative_(std::move(relative)) {}
  File file_;
  std::string relative_;
};

}  // namespace wattle::agent
