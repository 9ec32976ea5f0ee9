#include "common/sqlite/database.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <fstream>

#include "common/sqlite/record_table.hpp"
#include "tests/unit/common/temp_dir.hpp"

using namespace wattle;
using namespace wattle::sqlite;

namespace {
constexpr std::array<const char*, 1> kFirst{"CREATE TABLE t(a INTEGER)"};
constexpr std::array<const char*, 2> kSecond{"CREATE TABLE t(a INTEGER)",
                                             "ALTER TABLE t ADD COLUMN b INTEGER DEFAULT 7"};

std::int64_t ask(Database& database, const char* sql) {
  auto statement = database.prepare(sql);
  REQUIRE(statement);
  REQUIRE(statement->step().value());
  return statement->integer(0);
}
}  // namespace

TEST_CASE("a reopened file has everything that was committed and nothing that was not") {
  test::TempDir dir;
  {
    auto database = Database::open_(dir.file("a.db"), {}, kFirst);
    REQUIRE(database);
    auto kept = Transaction::begin(**database);
    REQUIRE(kept);
    REQUIRE((*database)->run("INSERT INTO t VALUES(1)"));
    REQUIRE(kept->commit());
    auto undone = Transaction::begin(**database);
    REQUIRE(undone);
    REQUIRE((*database)->run("INSERT INTO t VALUES(2)"));
  }
  auto database = Database::open_(dir.file("a.db"), {}, kFirst);
  REQUIRE(database);
  CHECK(ask(**database, "SELECT count(*) FROM t") == 1);
}

TEST_CASE("a file of an earlier schema is migrated, one of a later schema is refused") {
  test::TempDir dir;
  {
    auto database = Database::open_(dir.file("a.db"), {}, kFirst);
    REQUIRE(database);
    REQUIRE((*database)->run("INSERT INTO t VALUES(1)"));
  }
  {
    auto database = Database::open_(dir.file("a.db"), {}, kSecond);
    REQUIRE(database);
    CHECK(ask(**database, "SELECT b FROM t") == 7);
  }
  const auto older = Database::open_(dir.file("a.db"), {}, kFirst);
  REQUIRE(!older);
  CHECK(older.error().code == Errc::unsupported);
  CHECK(older.error().subject == dir.file("a.db"));
}

TEST_CASE("a file that another process has open is refused by name") {
  test::TempDir dir;
  auto first = Database::open_(dir.file("a.db"), {}, kFirst);
  REQUIRE(first);
  const auto second = Database::open_(dir.file("a.db"), {}, kFirst);
  REQUIRE(!second);
  CHECK(second.error().code == Errc::conflict);
  CHECK(second.error().fix.find("stop that process") != std::string::npos);
}

TEST_CASE("a file that is not a database is malformed, and a missing folder is not_found") {
  test::TempDir dir;
  std::ofstream(dir.file("a.db")) << std::string(5000, 'x');
  CHECK(Database::open_(dir.file("a.db"), {}, kFirst).error().code == Errc::malformed);
  const auto nowhere = Database::open_(dir.file("none/a.db"), {}, kFirst);
  REQUIRE(!nowhere);
  CHECK(nowhere.error().code == Errc::not_found);
  CHECK(nowhere.error().fix.find(dir.file("none")) != std::string::npos);
}

TEST_CASE("hashes of many records are those of each") {
  std::vector<std::string> bodies;
  for (const std::size_t bytes : std::vector<std::size_t>{1500, 0, 1500, 7, 1499, 1501, 1500, 1500, 3, 2})
    bodies.push_back(std::string(bytes, static_cast<char>('a' + bodies.size())));
  for (std::size_t count = 0; count <= bodies.size(); ++count) {
    std::vector<HashedRecord> records;
    for (std::size_t i = 0; i < count; ++i) records.push_back({{1 + i, ~std::uint64_t{0} - i}, bodies[i]});
    const auto hashes = record_hashes(records);
    REQUIRE(hashes.size() == count);
    for (std::size_t i = 0; i < count; ++i) CHECK(hashes[i] == record_hash(records[i].mark, records[i].body));
  }
  CHECK(record_hash({}, "") != record_hash({}, std::string_view("\0", 1)));
}
