#include "common/sqlite/copy.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <array>

#include "common/dir.hpp"
#include "tests/unit/common/temp_dir.hpp"

using namespace wattle;
using namespace wattle::sqlite;

namespace {
constexpr std::array<const char*, 1> kCopied{"CREATE TABLE t(a INTEGER PRIMARY KEY, b BLOB)"};

std::int64_t rows_in(Database& database) { return database.integer("SELECT count(*) FROM t").value(); }
}  // namespace

TEST_CASE("a copy has the existing rows and those written meanwhile, and no other user can read it") {
  test::TempDir dir;
  auto from = Database::open_(dir.file("a.db"), {}, kCopied);
  REQUIRE(from);
  const auto add = [&](int rows) {
    for (int i = 0; i < rows; ++i) REQUIRE((*from)->run("INSERT INTO t(b) VALUES(randomblob(2000))"));
  };
  add(100);
  auto copy = Copy::begin(**from, dir.file("b.db"));
  REQUIRE(copy);
  int parts = 1;
  for (auto whole = copy->step(4);; whole = copy->step(4), ++parts) {
    REQUIRE(whole);
    if (*whole) break;
    if (parts <= 5) add(1);
    if (parts == 3) REQUIRE((*from)->empty_log());
  }
  CHECK(parts > 5);
  copy = tl::unexpected<Error>(Error{});
  struct stat about {};
  REQUIRE(::stat(dir.file("b.db").c_str(), &about) == 0);
  CHECK((about.st_mode & 0777U) == 0600);
  auto opened = Database::open_(dir.file("b.db"), {}, kCopied);
  REQUIRE(opened);
  CHECK(rows_in(**opened) == 105);
  add(1);  // the owner continues
  CHECK(rows_in(**from) == 106);
}

TEST_CASE("a restarted copy starts from scratch, and one without a place is an error") {
  test::TempDir dir;
  auto from = Database::open_(dir.file("a.db"), {}, kCopied);
  REQUIRE(from);
  REQUIRE(write_file_atomically(dir.file("b.db"), std::string(10'000, 'x')));
  auto copy = Copy::begin(**from, dir.file("b.db"));
  REQUIRE(copy);
  CHECK(copy->step(1000).value());
  CHECK_FALSE(Copy::begin(**from, dir.file("none/b.db")));
}
