// Damaged spools: a spool with any damage opens with its intact records or reports an error. It returns only records
// that were pushed, byte for byte, and continues. The input is damage to a good file (offset, bytes), or after a first
// byte of 255 a complete file.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>

#include "common/sqlite/spool.hpp"
#include "common/wire/codec.hpp"
#include "tests/unit/sqlite/crash_disk.hpp"

namespace {

using namespace wattle;
using namespace wattle::sqlite;
using sqlite::testing::CrashDisk;

constexpr const char* kPath = "spool.db";

Record record_of(const RecordMark& mark) {
  Record record;
  record.incarnation = mark.incarnation;
  record.seq = mark.seq;
  record.probes.push_back({std::string(mark.seq % 5 == 0 ? 1500 : 60, 'a'), {}, {}, {}, 0, 0});
  return record;
}

SpoolOptions options() {
  SpoolOptions made;
  made.path = kPath;
  made.max_bytes = 48 << 10;
  made.memory_bytes = 8 << 10;  // small, so that records are dropped and the file has a gap
  made.commit_every = Duration{0};
  made.database.vfs = CrashDisk::kName;
  made.database.page_bytes = 1024;
  return made;
}

struct Good {
  std::string file;
  std::map<RecordMark, std::string> records;
};

const Good& good(CrashDisk& disk) {
  static const Good made = [&] {
    Good out;
    const ManualClock clock;
    {
      auto spool = Spool::open_(options(), clock);
      if (!spool) std::abort();
      for (std::uint64_t incarnation = 1; incarnation <= 2; ++incarnation)
        for (std::uint64_t seq = 1; seq <= 80; ++seq) {
          const Record record = record_of({incarnation, seq});
          if (!(*spool)->push(record)) std::abort();
          out.records[{incarnation, seq}] = wire::encode_record(record);
        }
    }
    out.file = disk.contents(kPath);
    return out;
  }();
  return made;
}

std::string damaged(const std::string& file, const std::uint8_t* data, std::size_t size) {
  if (data[0] == 255) return {reinterpret_cast<const char*>(data) + 1, size - 1};
  std::string out = file;
  for (std::size_t at = 0; at + 4 <= size; at += 4) {
    const std::size_t offset = data[at] * std::size_t{65536} + data[at + 1] * std::size_t{256} + data[at + 2];
    if (data[at + 3] == 0)
      out.resize(std::min(out.size(), offset));
    else if (!out.empty())
      out[offset % out.size()] = static_cast<char>(out[offset % out.size()] ^ data[at + 3]);
  }
  return out;
}

void drain(Spool& spool, const std::map<RecordMark, std::string>& records) {
  for (RecordMark cursor;;) {
    const auto batch = spool.peek_after(cursor, 16);
    if (!batch || batch->empty()) return;
    for (const EncodedRecord& record : *batch) {
      const auto pushed = records.find(record.mark);
      if (record.mark <= cursor || pushed == records.end() || pushed->second != record.bytes) std::abort();
      cursor = record.mark;
    }
    if (!spool.ack(cursor)) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  static CrashDisk disk;
  const Good& whole = good(disk);
  disk.replace(kPath, damaged(whole.file, data, size));
  disk.replace(std::string(kPath) + "-wal", "");
  ManualClock clock;
  auto spool = Spool::open_(options(), clock);
  if (!spool) {
    if (spool.error().subject.empty() || spool.error().what.empty()) std::abort();
    return 0;
  }
  drain(**spool, whole.records);
  auto records = whole.records;
  if ((*spool)->last().incarnation >= std::uint64_t{1} << 62) return 0;  // an invalid incarnation, without a successor
  const RecordMark next{(*spool)->last().incarnation + 1, 1};
  if (!(*spool)->push(record_of(next))) std::abort();
  records[next] = wire::encode_record(record_of(next));
  clock.advance(std::chrono::seconds(10));
  (*spool)->maintain();
  drain(**spool, records);
  return 0;
}
