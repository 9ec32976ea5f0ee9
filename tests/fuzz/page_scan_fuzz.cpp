// Pages of damaged spools: whatever the damage, each record that is found was pushed, byte for byte, and is found once.
// The input is damage to a good file (three bytes of offset, one to combine; 0 cuts the file there).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include <unistd.h>

#include "common/sqlite/page_scan.hpp"
#include "common/sqlite/record_table.hpp"

namespace {

using namespace wattle;
using namespace wattle::sqlite;

constexpr std::size_t kPageBytes = 1024;

struct Good {
  std::string path, file;
  std::map<RecordMark, std::string> records;
};

const Good& good() {
  static const Good made = [] {
    Good out;
    const std::string folder = std::filesystem::temp_directory_path() / ("page-scan-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder);
    out.path = folder + "/spool.db";
    {
      auto table = RecordTable::open_(out.path, {.page_bytes = kPageBytes});
      if (!table) std::abort();
      std::vector<EncodedRecord> records;
      for (std::uint64_t seq = 1; seq <= 60; ++seq)
        records.push_back({{1, seq}, std::string(seq % 7 == 0 ? 5000 : 100, static_cast<char>('a' + seq % 26)), 0});
      TableChange change;
      change.add = records;
      if (!table->apply(change)) std::abort();
      for (const EncodedRecord& record : records) out.records[record.mark] = record.bytes;
    }
    std::ifstream file(out.path, std::ios::binary);
    out.file.assign(std::istreambuf_iterator<char>(file), {});
    return out;
  }();
  return made;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Good& whole = good();
  std::string file = whole.file;
  for (std::size_t at = 0; at + 4 <= size && !file.empty(); at += 4) {
    const std::size_t offset = data[at] * std::size_t{65536} + data[at + 1] * std::size_t{256} + data[at + 2];
    if (data[at + 3] == 0)
      file.resize(std::min(file.size(), offset));
    else
      file[offset % file.size()] = static_cast<char>(file[offset % file.size()] ^ data[at + 3]);
  }
  std::ofstream(whole.path, std::ios::binary | std::ios::trunc) << file;
  const auto pages = PageScan::open_(whole.path, kPageBytes);
  if (!pages) std::abort();
  RecordMark last;
  for (const PageScan::Place& place : pages->find()) {
    const auto record = pages->read(place);
    const auto pushed = whole.records.find(place.mark);
    if (!record || place.mark <= last || pushed == whole.records.end() || pushed->second != record->bytes) std::abort();
    last = place.mark;
  }
  if (size < 4 && last != RecordMark{1, 60}) std::abort();
  return 0;
}
