// event_file: writes named numbers over steps to files that TensorBoard reads.
// Source   TFRecord (length, its checksum, data, its checksum; checksums are CRC-32C, masked) around Event messages of
//          tensorboard/compat/proto/event.proto: wall_time = 1, step = 2, file_version = 3, summary = 5 of values with
//          tag = 1 and simple_value = 2; encoded by hand, because both formats are a few bytes
// Bounds   starts a new file after kMaxBytes; keeps the kFiles newest
// Errors   io, denied: naming the file; earlier records stay readable
// Threads  single owner
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/clock.hpp"
#include "common/dir.hpp"
#include "common/result.hpp"

namespace wattle::models {

using Scalars = std::vector<std::pair<std::string, double>>;

// CRC-32C (Castagnoli), and its masked form in TFRecord.
std::uint32_t crc32c(std::string_view bytes);
std::uint32_t masked_crc32c(std::string_view bytes);
// Encodes one record, and the Event messages in it.
std::string tf_record(std::string_view data);
std::string version_event(WallTime at);
// Leaves out values that are not finite.
std::string scalars_event(std::uint64_t step, WallTime at, const Scalars& scalars);

class EventDir {
 public:
  static constexpr std::size_t kMaxBytes = 16U << 20U;
  static constexpr std::size_t kFiles = 8;

  // Creates the directory if it does not exist; files are created at the first write.
  static Result<EventDir> open_(const std::string& path, std::size_t max_bytes = kMaxBytes);
  // Writes one record; the kernel has it when this returns, but it is not synced.
  Status write(std::uint64_t step, WallTime at, const Scalars& scalars);
  const std::string& path() const { return path_; }

 private:
  EventDir(std::string path, std::size_t max_bytes) : path_(std::move(path)), max_bytes_(max_bytes) {}
  Status begin_file(WallTime at);
  Status append(const std::string& bytes);
  Status prune() const;

  std::string path_, file_;
  std::size_t max_bytes_;
  Fd fd_;
  std::size_t bytes_ = 0;
};

}  // namespace wattle::models
