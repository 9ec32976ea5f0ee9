// A store whose file was changed by the disk or by another program.
#include "controller/store/store_repair.hpp"

#include <sqlite3.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <set>

#include "tests/unit/common/temp_dir.hpp"
#include "tests/unit/controller/store_rig.hpp"
#include "tests/unit/controller/store_tables.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;

namespace {

constexpr std::uint64_t kRecords = 400;

// A closed file with kRecords of nodes a and b, and a decision.
StoreFileOptions filled(const wattle::test::TempDir& dir) {
  StoreFileOptions options;
  options.path = dir.file("store.db");
  StoreFile file = open(options);
  for (std::uint64_t seq = 1; seq <= kRecords; ++seq)
    REQUIRE(file.apply(std::vector<StoreItem>{item("a", seq, {pod_values("pod-" + std::to_string(seq % 50), 2)}),
                                              item("b", seq, {pod_values("p", 1)})},
                       static_cast<std::int64_t>(seq)));
  const DecisionRow row{7, 1, std::string(3000, 'd'), "{}"};
  REQUIRE(file.decisions().put(std::vector<DecisionRow>{row}, 1));
  REQUIRE(file.write_ledger());
  return options;
}

void overwrite(const std::string& path, std::uint64_t at, std::size_t bytes, char with) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(at));
  file << std::string(bytes, with);
}

// Pages without which no row of their table can be found.
std::set<std::uint64_t> root_pages(const std::string& path) {
  std::set<std::uint64_t> pages{0};
  sqlite3* raw = nullptr;
  REQUIRE(sqlite3_open(path.c_str(), &raw) == SQLITE_OK);
  const auto add = [](void* to, int, char** values, char**) {
    static_cast<std::set<std::uint64_t>*>(to)->insert(std::stoull(values[0]) - 1);
    return 0;
  };
  REQUIRE(sqlite3_exec(raw, "SELECT rootpage FROM sqlite_master", add, &pages, nullptr) == SQLITE_OK);
  sqlite3_close(raw);
  return pages;
}

std::size_t files_aside(const StoreFileOptions& options) {
  std::size_t found = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(options.path).parent_path()))
    if (entry.path().string().find(".damaged-") != std::string::npos && !entry.path().string().ends_with("-wal"))
      ++found;
  return found;
}

TEST_CASE("a row whose bytes changed on disk is counted by its table, and an intact file has none") {
  const wattle::test::TempDir dir;
  const StoreFileOptions options = filled(dir);
  CHECK(open(options).damaged_rows().value() == "");
  std::ifstream in(options.path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), {});
  const auto at = bytes.find(std::string(1000, 'd'));
  REQUIRE(at != std::string::npos);
  overwrite(options.path, at, 100, 'e');
  CHECK(open(options).damaged_rows().value() == "1 of decision");
}

TEST_CASE("the readable rows of a torn file are copied into a new one, and the file is kept") {
  const wattle::test::TempDir dir;
  const StoreFileOptions options = filled(dir);
  const std::uint64_t pages = std::filesystem::file_size(options.path) / 4096;
  REQUIRE(pages > 40);
  overwrite(options.path, (pages / 2) * 4096, 4096, '\x05');
  auto opened = open_or_repair(options, 1000, Log::silent());
  REQUIRE(opened);
  REQUIRE(opened->damage);
  CHECK(opened->damage->subject == options.path);
  CHECK(opened->damage->fix.find("moved to " + options.path + ".damaged-1000") != std::string::npos);
  CHECK(files_aside(options) == 1);
  CHECK(opened->file.marks() == StoreMarks{{"a", {{1, kRecords}}}, {"b", {{1, kRecords}}}});
  CHECK(opened->file.raw_records() > 2 * kRecords - 100);
  CHECK(StoreTables::nodes(opened->file).value().front().records == static_cast<std::int64_t>(kRecords));
  REQUIRE(opened->file.apply(std::vector<StoreItem>{item("a", kRecords + 1)}, 1001));
}

TEST_CASE("the row that a new file begins with does not count as a copied row") {
  const wattle::test::TempDir dir;
  const StoreFileOptions options = filled(dir);
  overwrite(options.path, 0, std::filesystem::file_size(options.path), 'x');
  const auto opened = open_or_repair(options, 1000, Log::silent());
  REQUIRE(opened);
  REQUIRE(opened->damage);
  CHECK_MESSAGE(opened->damage->fix.find("; 0 readable rows were copied") != std::string::npos, opened->damage->fix);
}

TEST_CASE("a file that is damaged anywhere opens, and no row that can be read is lost") {
  const wattle::test::TempDir dir;
  const StoreFileOptions options = filled(dir);
  const std::string intact = dir.file("intact.db");
  std::filesystem::copy_file(options.path, intact);
  const std::uint64_t bytes = std::filesystem::file_size(intact);
  const std::set<std::uint64_t> roots = root_pages(intact);
  std::mt19937_64 random(7);
  for (int round = 0; round < 60; ++round) {
    for (const auto& entry : std::filesystem::directory_iterator(dir.path()))
      if (entry.path() != intact) std::filesystem::remove(entry.path());
    std::filesystem::copy_file(intact, options.path);
    const std::uint64_t at = round < 20 ? random() % bytes / 4096 * 4096 : random() % bytes;
    const std::size_t length = round % 3 == 0 ? 4096 : 1 + random() % 600;
    CAPTURE(at);
    CAPTURE(length);
    overwrite(options.path, at, std::min<std::uint64_t>(length, bytes - at), round % 2 == 0 ? '\0' : '\xff');
    auto opened = open_or_repair(options, 1000, Log::silent());
    REQUIRE(opened);
    const auto rows = opened->file.damaged_rows();
    REQUIRE(rows);
    REQUIRE(opened->file.apply(std::vector<StoreItem>{item("a", kRecords + 1)}, 1001));
    CHECK((!opened->damage || files_aside(options) == 1));
    if (roots.contains(at / 4096) || roots.contains((at + length - 1) / 4096)) continue;
    CHECK(opened->file.raw_records() > 2 * kRecords - 120);
  }
}

TEST_CASE("a file that is no database, or is cut, opens as a new one") {
  for (const bool cut : {false, true}) {
    const wattle::test::TempDir dir;
    const StoreFileOptions options = filled(dir);
    if (cut)
      std::filesystem::resize_file(options.path, std::filesystem::file_size(options.path) / 2 + 100);
    else
      std::ofstream(options.path) << std::string(20'000, 'x');
    auto opened = open_or_repair(options, 1000, Log::silent());
    REQUIRE(opened);
    CHECK(opened->damage);
    CHECK(files_aside(options) == 1);
    if (cut) CHECK(opened->file.raw_records() > 0);
    REQUIRE(opened->file.apply(std::vector<StoreItem>{item("a", kRecords + 1)}, 1001));
  }
}

}  // namespace
