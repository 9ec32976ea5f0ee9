#include "models/frozen/event_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cmath>
#include <filesystem>

namespace wattle::models {

namespace {

constexpr std::string_view kPrefix = "events.out.tfevents.";

constexpr std::array<std::uint32_t, 256> table() {
  constexpr std::uint32_t kReversed = 0x82f63b78U;  // reversed Castagnoli polynomial
  std::array<std::uint32_t, 256> entries{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1U) ^ ((value & 1U) != 0 ? kReversed : 0U);
    entries[i] = value;
  }
  return entries;
}
constexpr auto kTable = table();

template <class T>
void put_little(std::string& out, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) out.push_back(static_cast<char>((value >> (8 * i)) & 0xffU));
}

void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80U; value >>= 7U) out.push_back(static_cast<char>((value & 0x7fU) | 0x80U));
  out.push_back(static_cast<char>(value));
}

// Encodes protocol buffer wire types.
void put_double(std::string& out, unsigned field, double value) {
  put_varint(out, field << 3U | 1U);
  put_little(out, std::bit_cast<std::uint64_t>(value));
}
void put_float(std::string& out, unsigned field, float value) {
  put_varint(out, field << 3U | 5U);
  put_little(out, std::bit_cast<std::uint32_t>(value));
}
void put_bytes(std::string& out, unsigned field, std::string_view bytes) {
  put_varint(out, field << 3U | 2U);
  put_varint(out, bytes.size());
  out += bytes;
}

double unix_s(WallTime at) { return static_cast<double>(to_ns(at)) * 1e-9; }

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t value = ~0U;
  for (const char byte : bytes) value = (value >> 8U) ^ kTable[(value ^ static_cast<unsigned char>(byte)) & 0xffU];
  return ~value;
}

std::uint32_t masked_crc32c(std::string_view bytes) { return std::rotr(crc32c(bytes), 15) + 0xa282ead8U; }

std::string tf_record(std::string_view data) {
  std::string out;
  put_little(out, static_cast<std::uint64_t>(data.size()));
  put_little(out, masked_crc32c(out));
  out += data;
  put_little(out, masked_crc32c(data));
  return out;
}

std::string version_event(WallTime at) {
  std::string event;
  put_double(event, 1, unix_s(at));
  put_bytes(event, 3, "brain.Event:2");
  return event;
}

std::string scalars_event(std::uint64_t step, WallTime at, const Scalars& scalars) {
  std::string summary;
  for (const auto& [tag, value] : scalars) {
    if (!std::isfinite(value)) continue;
    std::string one;
    put_bytes(one, 1, tag);
    put_float(one, 2, static_cast<float>(value));
    put_bytes(summary, 1, one);
  }
  std::string event;
  put_double(event, 1, unix_s(at));
  put_varint(event, 2U << 3U);
  put_varint(event, step);
  put_bytes(event, 5, summary);
  return event;
}

Result<EventDir> EventDir::open_(const std::string& path, std::size_t max_bytes) {
  WATTLE_CHECK(make_dirs(path));
  return EventDir(path, max_bytes);
}

Status EventDir::write(std::uint64_t step, WallTime at, const Scalars& scalars) {
  if (scalars.empty()) return {};
  if (!fd_.valid() || bytes_ >= max_bytes_) WATTLE_CHECK(begin_file(at));
  return append(tf_record(scalars_event(step, at, scalars)));
}

// TensorBoard reads all files of a directory in the order of their names: seconds come first, then a number for files
// of the same second.
Status EventDir::begin_file(WallTime at) {
  for (int number = 0;; ++number) {
    file_ = path_ + "/" + std::string(kPrefix) + std::to_string(to_ns(at) / 1'000'000'000) + ".wattle." +
            std::to_string(number);
    fd_ = Fd(::open(file_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600));
    if (fd_.valid()) break;
    if (errno != EEXIST) return fail_errno(errno, file_);
  }
  bytes_ = 0;
  WATTLE_CHECK(append(tf_record(version_event(at))));
  return prune();
}

Status EventDir::append(const std::string& bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t wrote = ::write(fd_.get(), bytes.data() + done, bytes.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) {
      const int error = errno;
      fd_ = {};  // the file may end in half a record, so the next is written to a new file
      return fail_errno(error, file_);
    }
    done += static_cast<std::size_t>(wrote);
  }
  bytes_ += bytes.size();
  return {};
}

Status EventDir::prune() const {
  WATTLE_TRY(const Dir dir, Dir::open_(path_));
  WATTLE_TRY(const std::vector<DirEntry> entries, dir.list());
  std::vector<std::string> ours;
  for (const DirEntry& entry : entries)
    if (!entry.is_dir && entry.name.starts_with(kPrefix)) ours.push_back(entry.name);
  for (std::size_t i = 0; i + kFiles < ours.size(); ++i) {
    std::error_code error;
    std::filesystem::remove(path_ + "/" + ours[i], error);
    if (error) return fail_errno(error.value(), path_ + "/" + ours[i]);
  }
  return {};
}

}  // namespace wattle::models
