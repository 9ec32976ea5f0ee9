// kept_file: one kernel file kept open from tick to tick, and opened again after an error.
// Errors   those of Dir::open_file and of the read
// Cost     1 pread per read (2 for `whole`);  Threads  single owner
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "common/dir.hpp"

namespace wattle::agent {

enum class Render { once, whole };  // once: the kernel renders the file in one go; whole: read on until its end

class KeptFile {
 public:
  KeptFile() = default;
  explicit KeptFile(std::string relative, Render render = Render::once)
      : relative_(std::move(relative)), render_(render) {}

  // The text points into `scratch`.
  Result<std::string_view> read_from(const Dir& dir, std::span<char> scratch) {
    if (!file_) {
      auto opened = dir.open_file(relative_);
      if (!opened) return forward_error(opened);
      file_.emplace(std::move(*opened));
    }
    auto text = render_ == Render::once ? file_->read_once_into(scratch) : file_->read_into(scratch);
    if (!text) file_.reset();
    return text;
  }
  bool is_open() const { return file_.has_value(); }

 private:
  std::string relative_;
  Render render_ = Render::once;
  std::optional<File> file_;
};

}  // namespace wattle::agent
