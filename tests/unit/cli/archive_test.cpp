#include "cli/archive.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <fstream>
#include <map>
#include <random>

#include "tests/unit/common/temp_dir.hpp"

using namespace wattle;
using namespace wattle::cli;

namespace {

struct ArchiveFixture {
  wattle::test::TempDir dir;
  const std::string path = dir.file("backup");
  std::map<std::string, std::string> contents{
      {"allow", ""}, {"checkpoints/7.json", "{}"}, {"store.db", std::string(300'000, 's')}};

  Result<Manifest> write() {
    std::vector<Source> sources;
    int number = 0;
    for (const auto& [name, content] : contents) {
      const std::string file = dir.file(std::to_string(number++));
      std::ofstream(file) << content;
      auto opened = open_file(file);
      REQUIRE(opened);
      sources.push_back({name, std::move(*opened)});
    }
    return write_archive(path, "1.2.3", 1'700'000'000, sources);
  }
  static Result<std::map<std::string, std::string>> read(const std::string& from) {
    std::map<std::string, std::string> found;
    WATTLE_TRY(const Manifest manifest, read_archive(from, [&](const Member& member, std::string_view bytes) {
                 found[member.name] += bytes;
                 return Status();
               }));
    CHECK(manifest.files.size() == found.size());
    return found;
  }
  std::string bytes() const { return read_file(path, 1 << 20).value(); }
};

}  // namespace

TEST_CASE_FIXTURE(ArchiveFixture, "an archive is read back as written, and no other user can read it") {
  const auto written = write();
  REQUIRE(written);
  CHECK(written->version == "1.2.3");
  CHECK(read(path).value() == contents);
  struct stat about {};
  REQUIRE(::stat(path.c_str(), &about) == 0);
  CHECK((about.st_mode & 0777U) == 0600);
  CHECK(::stat((path + ".part").c_str(), &about) != 0);
}

TEST_CASE_FIXTURE(ArchiveFixture, "an existing archive is not overwritten") {
  CHECK(refuse_taken(path));
  std::ofstream(path) << "mine";
  const Status reported = refuse_taken(path);
  REQUIRE_FALSE(reported);
  CHECK(reported.error().code == Errc::conflict);
  const auto written = write();
  REQUIRE_FALSE(written);
  CHECK(written.error().code == Errc::conflict);
  CHECK(bytes() == "mine");
}

TEST_CASE_FIXTURE(ArchiveFixture, "a change, loss or addition of any single byte is refused") {
  contents["store.db"] = std::string(700, 's');
  REQUIRE(write());
  const std::string whole = bytes();
  const std::string other = dir.file("other");
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    std::ofstream(other) << changed;
    const auto found = read(other);
    CHECK_MESSAGE(!found, "byte " << at);
    if (!found) CHECK_FALSE(found.error().fix.empty());
  }
  for (std::size_t bytes = 0; bytes < whole.size(); bytes += 97) {
    std::ofstream(other) << whole.substr(0, bytes);
    CHECK_FALSE(read(other));
  }
  std::ofstream(other) << whole << 'x';
  CHECK_FALSE(read(other));
}

TEST_CASE_FIXTURE(ArchiveFixture, "random bytes are not an archive") {
  std::mt19937 random(7);
  for (int i = 0; i < 200; ++i) {
    std::string noise(random() % 3000, '\0');
    for (char& c : noise) c = static_cast<char>(random());
    std::ofstream(path) << noise;
    CHECK_FALSE(read(path));
  }
}

TEST_CASE("member names that leave the folder or are invalid are refused") {
  for (const char* name :
       {"", "/etc/passwd", "../x", "a/../b", "a//b", "a/", "a b", "a\nb", ".", "./a", "a/.", "a/./b"})
    CHECK_FALSE(is_member_name(name));
  CHECK_FALSE(is_member_name(std::string(100, 'a')));
  CHECK(is_member_name("checkpoints/7.safetensors"));
  CHECK_FALSE(parse_member(member_header({"../x", 1, {}}, 0), "archive"));
}

TEST_CASE("an archive of a newer format is refused with its version") {
  const auto manifest = parse_manifest(R"({"format": 2, "wattle": "9.9.9"})", "archive");
  REQUIRE_FALSE(manifest);
  CHECK(manifest.error().code == Errc::unsupported);
  CHECK(manifest.error().message().find("9.9.9") != std::string::npos);
}
