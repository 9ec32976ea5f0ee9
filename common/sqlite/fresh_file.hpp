// fresh_file: the newest records of an agent in a small file that is written in place and never synced.
// Model    a kernel keeps written pages when the process ends, so the file holds every record after a kill. It writes
//          them to the disk some 30 s later. Records that are acknowledged sooner share their pages with newer ones
// Format   docs/reference/files.md: two areas of frames, each with a hash
// Bound    kFreshBytes, allocated when the file is opened
// Errors   open_: denied, malformed (not a file), exhausted, io; add() returns false if there is no room or the disk
//          refuses
// Threads  single owner
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "common/dir.hpp"
#include "common/outbox.hpp"

namespace wattle::sqlite {

inline constexpr std::uint64_t kFreshBytes = 512 << 10;

class FreshFile {
 public:
  static Result<FreshFile> open_(const std::string& path);
  // Returns the whole records of the previous process: the newest run of successive numbers. Some of them may be
  // acknowledged. Call before add().
  Result<std::vector<EncodedRecord>> read() const;
  // Call with rising marks. After false, the file may hold a part of the record, which read() skips.
  bool add(const EncodedRecord& record);
  // Records up to the mark need not be kept.
  void release(const RecordMark& mark);

 private:
  struct Area {
    std::uint64_t used = 0;
    RecordMark last{};
    bool free = true;  // all of its records are released
  };
  explicit FreshFile(Fd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  std::vector<EncodedRecord> frames_of(std::string_view area) const;

  Fd fd_;
  std::string path_;
  std::array<Area, 2> areas_{};
  std::size_t at_ = 0;
};

}  // namespace wattle::sqlite
