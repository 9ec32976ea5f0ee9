// page_scan: finds the records of a spool in the pages of a damaged file that SQLite cannot read as a table.
// Source   leaf pages of tables in the file and in its log (sqlite.org/fileformat2.html, "B-tree Pages" and "WAL File
//          Format"). A record counts if its hash is right
// Limits   pages that SQLite has freed may hold acknowledged records, which a controller ignores
// Errors   open_: those of the file. Bytes that are no record are left out
// Threads  single owner
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/dir.hpp"
#include "common/outbox.hpp"

namespace wattle::sqlite {

class PageScan {
 public:
  static Result<PageScan> open_(const std::string& path, std::size_t page_bytes);
  // Place of a sound record: of its page in the file or the log, and of its cell in the page.
  struct Place {
    RecordMark mark;
    bool in_log = false;
    std::uint64_t page_at = 0;
    std::size_t cell_at = 0;
  };
  // Returns each record once, in the order of their marks.
  std::vector<Place> find() const;
  std::optional<EncodedRecord> read(const Place& place) const;

 private:
  PageScan(File file, std::size_t page_bytes) : file_(std::move(file)), page_bytes_(page_bytes) {}
  void look_at(bool in_log, std::uint64_t page_at, std::size_t header_at, std::vector<Place>& found) const;
  std::optional<EncodedRecord> record_at(std::string_view bytes, std::size_t cell_at, bool log_first) const;
  std::optional<std::string> page(bool in_log, std::uint64_t at) const;
  std::optional<std::string> page_of(std::uint32_t number, bool log_first) const;

  File file_;
  std::optional<File> log_;
  std::size_t page_bytes_;
  std::map<std::uint32_t, std::uint64_t> frames_;  // page number -> place of its newest page in the log
};

}  // namespace wattle::sqlite
