#include "common/sqlite/page_scan.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "common/sqlite/record_table.hpp"

namespace wattle::sqlite {
namespace {

constexpr unsigned char kTableLeaf = 0x0d;
constexpr std::size_t kFileHeaderBytes = 100, kPageHeaderBytes = 8, kLogHeadBytes = 32, kFrameHeadBytes = 24;
constexpr std::uint64_t kMostPayloadBytes = 4 << 20;
constexpr std::size_t kColumns = 5;  // id (stored as the key of the row), incarnation, seq, hash, body

std::uint64_t byte_at(std::string_view text, std::size_t at) { return static_cast<unsigned char>(text[at]); }

std::uint64_t number_at(std::string_view text, std::size_t at, std::size_t bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) value = (value << 8U) | byte_at(text, at + i);
  return value;
}

// Takes a number of one to nine bytes off the front.
std::optional<std::uint64_t> take_number(std::string_view& text) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < 9 && i < text.size(); ++i) {
    const std::uint64_t byte = byte_at(text, i);
    value = i == 8 ? (value << 8U) | byte : (value << 7U) | (byte & 0x7fU);
    if (i < 8 && (byte & 0x80U) != 0) continue;
    text.remove_prefix(i + 1);
    return value;
  }
  return std::nullopt;
}

// Size of a whole number of this type; no value for other types.
std::optional<std::size_t> bytes_of(std::uint64_t type) {
  constexpr std::array<std::size_t, 7> kBytes{0, 1, 2, 3, 4, 6, 8};
  if (type == 8 || type == 9) return 0;  // the numbers 0 and 1
  return type >= 1 && type < kBytes.size() ? std::optional(kBytes[type]) : std::nullopt;
}

// Takes a whole number of this type off the front; negative ones have all higher bits set.
std::optional<std::uint64_t> take_column(std::string_view& text, std::uint64_t type) {
  const auto bytes = bytes_of(type);
  if (!bytes || *bytes > text.size()) return std::nullopt;
  if (*bytes == 0) return type - 8;
  std::uint64_t value = number_at(text, 0, *bytes);
  if (*bytes < 8 && (byte_at(text, 0) & 0x80U) != 0) value |= ~std::uint64_t{0} << (8 * *bytes);
  text.remove_prefix(*bytes);
  return value;
}

// Reads a row of the table `record`.
std::optional<EncodedRecord> record_of(std::string_view row) {
  const std::size_t all = row.size();
  const auto header_bytes = take_number(row);
  if (!header_bytes || *header_bytes > all || all - row.size() > *header_bytes) return std::nullopt;
  std::string_view header = row.substr(0, *header_bytes - (all - row.size()));
  row.remove_prefix(header.size());
  std::array<std::uint64_t, kColumns> types{};
  for (std::uint64_t& type : types) {
    const auto taken = take_number(header);
    if (!taken) return std::nullopt;
    type = *taken;
  }
  const auto incarnation = types[0] == 0 ? take_column(row, types[1]) : std::nullopt;
  const auto seq = incarnation ? take_column(row, types[2]) : std::nullopt;
  const auto hash = seq ? take_column(row, types[3]) : std::nullopt;
  const bool is_blob = types[4] >= 12 && types[4] % 2 == 0 && (types[4] - 12) / 2 == row.size();
  if (!hash || !is_blob || row.empty()) return std::nullopt;
  const RecordMark mark{*incarnation, *seq};
  if (record_hash(mark, row) != static_cast<std::int64_t>(*hash)) return std::nullopt;
  return EncodedRecord{mark, std::string(row), 0};
}

}  // namespace

Result<PageScan> PageScan::open_(const std::string& path, std::size_t page_bytes) {
  WATTLE_TRY(File file, open_file(path));
  PageScan scan(std::move(file), page_bytes);
  if (auto log = open_file(path + "-wal")) scan.log_.emplace(std::move(*log));
  std::array<char, kFrameHeadBytes> head{};
  for (std::uint64_t at = kLogHeadBytes; scan.log_; at += kFrameHeadBytes + page_bytes) {
    if (::pread(scan.log_->fd(), head.data(), head.size(), static_cast<off_t>(at)) != static_cast<ssize_t>(head.size()))
      break;
    scan.frames_[static_cast<std::uint32_t>(number_at({head.data(), head.size()}, 0, 4))] = at + kFrameHeadBytes;
  }
  return scan;
}

std::optional<std::string> PageScan::page(bool in_log, std::uint64_t at) const {
  std::string bytes(page_bytes_, '\0');
  const int fd = in_log ? log_->fd() : file_.fd();
  for (;;) {
    const ssize_t n = ::pread(fd, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    return n == static_cast<ssize_t>(bytes.size()) ? std::optional(std::move(bytes)) : std::nullopt;
  }
}

std::optional<std::string> PageScan::page_of(std::uint32_t number, bool log_first) const {
  const auto frame = frames_.find(number);
  if (log_first && frame != frames_.end()) return page(true, frame->second);
  return number == 0 ? std::nullopt : page(false, std::uint64_t{number - 1} * page_bytes_);
}

std::vector<PageScan::Place> PageScan::find() const {
  std::vector<Place> found;
  const off_t file_bytes = ::lseek(file_.fd(), 0, SEEK_END);
  for (std::uint64_t at = 0; file_bytes > 0 && at + page_bytes_ <= static_cast<std::uint64_t>(file_bytes);
       at += page_bytes_)
    look_at(false, at, at == 0 ? kFileHeaderBytes : 0, found);
  for (const auto& [number, at] : frames_) look_at(true, at, number == 1 ? kFileHeaderBytes : 0, found);
  std::stable_sort(found.begin(), found.end(), [](const Place& a, const Place& b) { return a.mark < b.mark; });
  found.erase(std::unique(found.begin(), found.end(), [](const Place& a, const Place& b) { return a.mark == b.mark; }),
              found.end());
  return found;
}

void PageScan::look_at(bool in_log, std::uint64_t page_at, std::size_t header_at, std::vector<Place>& found) const {
  const auto bytes = page(in_log, page_at);
  if (!bytes || byte_at(*bytes, header_at) != kTableLeaf) return;
  const std::uint64_t cells = number_at(*bytes, header_at + 3, 2);
  const std::size_t pointers = header_at + kPageHeaderBytes;
  if (pointers + 2 * cells > bytes->size()) return;
  for (std::uint64_t cell = 0; cell < cells; ++cell) {
    const auto cell_at = static_cast<std::size_t>(number_at(*bytes, pointers + 2 * cell, 2));
    Place place{{}, in_log, page_at, cell_at};
    const auto record = cell_at < bytes->size() ? record_at(*bytes, cell_at, in_log) : std::nullopt;
    if (!record) continue;
    place.mark = record->mark;
    found.push_back(place);
  }
}

// What does not fit into the cell is in a chain of further pages.
std::optional<EncodedRecord> PageScan::record_at(std::string_view bytes, std::size_t cell_at, bool log_first) const {
  std::string_view cell = bytes.substr(cell_at);
  const auto payload_bytes = take_number(cell), id = take_number(cell);
  if (!payload_bytes || !id || *payload_bytes > kMostPayloadBytes) return std::nullopt;
  const std::uint64_t most = page_bytes_ - 35, least = (page_bytes_ - 12) * 32 / 255 - 23;
  std::uint64_t local = *payload_bytes;
  if (local > most) local = least + (local - least) % (page_bytes_ - 4);
  if (local > most) local = least;
  const bool chained = local < *payload_bytes;
  if (local + (chained ? 4 : 0) > cell.size()) return std::nullopt;
  if (!chained) return record_of(cell.substr(0, local));
  std::string payload(cell.substr(0, local));
  auto next = static_cast<std::uint32_t>(number_at(cell, local, 4));
  while (payload.size() < *payload_bytes) {
    const auto more = page_of(next, log_first);
    if (!more) return std::nullopt;
    next = static_cast<std::uint32_t>(number_at(*more, 0, 4));
    payload.append(*more, 4, std::min<std::size_t>(page_bytes_ - 4, *payload_bytes - payload.size()));
  }
  return record_of(payload);
}

std::optional<EncodedRecord> PageScan::read(const Place& place) const {
  const auto bytes = page(place.in_log, place.page_at);
  if (!bytes) return std::nullopt;
  auto record = record_at(*bytes, place.cell_at, place.in_log);
  return record && record->mark == place.mark ? std::move(record) : std::nullopt;
}

}  // namespace wattle::sqlite
