// golden: the bytes of every kind at every released version, kept under tests/fixtures/wire, stay readable.
// After a field was added, update the current version's files until it is released, with
//   WATTLE_WRITE_FIXTURES=1 build/dev/bin/unit_common -tc='*golden*'
#include <doctest/doctest.h>

#include <cstdlib>

#include "any_message.hpp"
#include "common/dir.hpp"
#include "common/wire/codec.hpp"
#include "tests/places.hpp"

using namespace wattle;
using namespace wattle::wire;
using namespace wattle::wire::test;

namespace {
std::string folder_of(std::uint64_t version) {
  return tests::source_dir() + "/tests/fixtures/wire/v" + std::to_string(version);
}

std::string to_hex(const std::string& bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 15U];
    if (i % 40 == 39 || i + 1 == bytes.size()) text += '\n';
  }
  return text;
}

std::string from_hex(const std::string& text) {
  const auto digit = [](char c) { return static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10); };
  std::string digits;
  for (const char c : text)
    if (c != '\n') digits += c;
  std::string bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
    bytes += static_cast<char>(digit(digits[i]) * 16 + digit(digits[i + 1]));
  return bytes;
}
}  // namespace

TEST_CASE("the encoding of every kind equals its golden bytes") {
  const bool write = std::getenv("WATTLE_WRITE_FIXTURES") != nullptr;
  if (write) REQUIRE(make_dirs(folder_of(kVersionMax)));
  for (std::size_t i = 0; i < kKinds; ++i) {
    const Message message = message_of(i, Counting{});
    const std::string name = std::string(to_string(kind_of(message))) + ".hex";
    CAPTURE(name);
    const std::string text = to_hex(encode(message));
    if (write) REQUIRE(write_file_atomically(folder_of(kVersionMax) + "/" + name, text));
    const auto dir = Dir::open_(folder_of(kVersionMax));
    REQUIRE(dir);
    const auto golden = dir->read_file(name);
    REQUIRE(golden);
    CHECK(*golden == text);
  }
}

TEST_CASE("golden bytes of every supported version are readable, with the same content") {
  for (std::uint64_t version = kVersionMin; version <= kVersionMax; ++version) {
    const auto dir = Dir::open_(folder_of(version));
    REQUIRE(dir);
    const auto files = dir->list();
    REQUIRE(files);
    CHECK(files->size() >= 16);
    for (const auto& file : *files) {
      CAPTURE(file.name);
      const auto message = decode(from_hex(dir->read_file(file.name).value()));
      REQUIRE(message);
      CHECK(std::string(to_string(kind_of(*message))) + ".hex" == file.name);
      if (version == kVersionMax) CHECK(to_hex(encode(*message)) == dir->read_file(file.name).value());
    }
  }
}
