// The bytes that TensorBoard reads.
#include "models/frozen/event_file.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>

using namespace wattle;
using namespace wattle::models;

namespace {

struct Folder {
  std::string path = (std::filesystem::temp_directory_path() / "wattle-events-XXXXXX").string();
  Folder() { REQUIRE(mkdtemp(path.data()) != nullptr); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    const auto dir = Dir::open_(path);
    REQUIRE(dir);
    const auto entries = dir->list();
    REQUIRE(entries);
    for (const DirEntry& entry : *entries) names.push_back(entry.name);
    return names;
  }
  std::string read(const std::string& name) const {
    const auto dir = Dir::open_(path);
    REQUIRE(dir);
    const auto bytes = dir->read_file(name, 64 << 20);
    REQUIRE(bytes);
    return *bytes;
  }
};

template <class T>
T little(std::string_view bytes, std::size_t at) {
  T value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

// Returns the data of each record after comparing its checksums.
std::vector<std::string> records_of(const std::string& bytes) {
  std::vector<std::string> records;
  for (std::size_t at = 0; at < bytes.size();) {
    REQUIRE(at + 12 <= bytes.size());
    const auto length = little<std::uint64_t>(bytes, at);
    CHECK(little<std::uint32_t>(bytes, at + 8) == masked_crc32c(std::string_view(bytes).substr(at, 8)));
    REQUIRE(at + 16 + length <= bytes.size());
    records.push_back(bytes.substr(at + 12, length));
    CHECK(little<std::uint32_t>(bytes, at + 12 + length) == masked_crc32c(records.back()));
    at += 16 + length;
  }
  return records;
}

constexpr std::int64_t kNow_ns = 1'700'000'000LL * 1'000'000'000;

}  // namespace

TEST_CASE("checksums are CRC-32C") {
  // RFC 3720, B.4, and the usual check value.
  CHECK(crc32c("123456789") == 0xe3069283U);
  CHECK(crc32c(std::string(32, '\0')) == 0x8a9136aaU);
  CHECK(crc32c(std::string(32, '\xff')) == 0x62a8ab43U);
  CHECK(crc32c("") == 0U);
}

TEST_CASE("an event matches the protocol, byte for byte") {
  const std::string version = version_event(wall_from_ns(kNow_ns));
  // wall_time: field 1, 64 bits: 1700000000.0; file_version: field 3
  CHECK(version == std::string("\x09\x00\x00\x00\x40\xfc\x54\xd9\x41\x1a\x0d", 11) + "brain.Event:2");
  const std::string event = scalars_event(300, wall_from_ns(kNow_ns), {{"a/b", 1.5}});
  CHECK(event == std::string("\x09\x00\x00\x00\x40\xfc\x54\xd9\x41"  // wall_time
                             "\x10\xac\x02"                          // step 300
                             "\x2a\x0c\x0a\x0a\x0a\x03"
                             "a/b"
                             "\x15\x00\x00\xc0\x3f",
                             26));
}

TEST_CASE("values that are not numbers are omitted") {
  const WallTime at = wall_from_ns(kNow_ns);
  CHECK(scalars_event(1, at, {{"a", std::nan("")}, {"b", 2}, {"c", std::numeric_limits<double>::infinity()}}) ==
        scalars_event(1, at, {{"b", 2}}));
}

TEST_CASE("a file starts with its version and has what was written, in order") {
  const Folder folder;
  auto events = EventDir::open_(folder.path);
  REQUIRE(events);
  REQUIRE(events->write(1, wall_from_ns(kNow_ns), {}));
  CHECK(folder.files().empty());
  REQUIRE(events->write(1, wall_from_ns(kNow_ns), {{"loss", 0.5}}));
  REQUIRE(events->write(2, wall_from_ns(kNow_ns), {{"loss", 0.25}, {"q", -1}}));
  REQUIRE(folder.files().size() == 1);
  CHECK(folder.files()[0] == "events.out.tfevents.1700000000.wattle.0");
  const auto records = records_of(folder.read(folder.files()[0]));
  REQUIRE(records.size() == 3);
  CHECK(records[0] == version_event(wall_from_ns(kNow_ns)));
  CHECK(records[1] == scalars_event(1, wall_from_ns(kNow_ns), {{"loss", 0.5}}));
  CHECK(records[2] == scalars_event(2, wall_from_ns(kNow_ns), {{"loss", 0.25}, {"q", -1}}));
}

TEST_CASE("files are bounded in size and number") {
  const Folder folder;
  auto events = EventDir::open_(folder.path, 100);
  REQUIRE(events);
  for (std::uint64_t step = 0; step < 60; ++step)
    REQUIRE(events->write(step, wall_from_ns(kNow_ns + static_cast<std::int64_t>(step) * 1'000'000'000),
                          {{"loss", static_cast<double>(step)}}));
  const auto files = folder.files();
  CHECK(files.size() == EventDir::kFiles);
  for (const std::string& name : files) {
    const auto records = records_of(folder.read(name));
    CHECK(records.size() >= 2);
    CHECK(folder.read(name).size() < 250);
  }
  // The newest is kept.
  CHECK(folder.read(files.back()).find("loss") != std::string::npos);
}

TEST_CASE("a directory that cannot be written is named") {
  auto events = EventDir::open_("/proc/nothing/here");
  REQUIRE(!events);
  CHECK(events.error().message().find("/proc/nothing") != std::string::npos);
}
