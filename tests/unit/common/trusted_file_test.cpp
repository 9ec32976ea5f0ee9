#include "common/trusted_file.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include "common/dir.hpp"
#include "tests/unit/common/temp_dir.hpp"

using namespace wattle;

namespace {

struct stat about(mode_t mode, uid_t owner) {
  struct stat info {};
  info.st_mode = S_IFREG | mode;
  info.st_uid = owner;
  return info;
}

}  // namespace

TEST_CASE("a file that grants access is trusted while only root and this process's user may write it") {
  for (const mode_t mode : {0400U, 0600U, 0644U, 0444U}) {
    CHECK(check_authority("f", about(mode, 0)));
    CHECK(check_authority("f", about(mode, ::geteuid())));
    CHECK(check_trust_anchor("f", about(mode, ::geteuid())));
    CHECK(check_authority("f", about(mode, 65534)).error().code == Errc::denied);
  }
  for (const mode_t mode : {0664U, 0646U, 0666U, 0620U}) {
    CHECK(check_authority("f", about(mode, ::geteuid())).error().what.find("group or others can write to it") !=
          std::string::npos);
    CHECK(check_trust_anchor("f", about(mode, ::geteuid())).error().code == Errc::denied);
  }
}

TEST_CASE("a secret is its owner's alone") {
  for (const mode_t mode : {0400U, 0600U}) CHECK(check_secret("f", about(mode, ::geteuid())));
  for (const mode_t mode : {0440U, 0404U, 0620U, 0644U})
    CHECK(check_secret("f", about(mode, ::geteuid())).error().code == Errc::denied);
  CHECK(check_secret("f", about(0400, 65534)).has_value() == (::geteuid() == 0));
}

TEST_CASE("a file that does not exist passes by name") {
  const wattle::test::TempDir dir;
  CHECK(check_authority(dir.file("none")));
  REQUIRE(write_file_atomically(dir.file("list"), "x", 0666));
  REQUIRE(::chmod(dir.file("list").c_str(), 0666) == 0);
  CHECK(check_authority(dir.file("list")).error().subject == dir.file("list"));
}
