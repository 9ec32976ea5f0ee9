#include "common/trusted_file.hpp"

#include <doctest/doctest.h>
#include <grp.h>
#include <sys/wait.h>
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

constexpr gid_t kGroup = 64460, kOther = 64461;

// A file as a kubelet mounts a Secret for a pod whose fsGroup is `group`.
struct stat mounted(mode_t mode, gid_t group) {
  struct stat info = about(mode, 0);
  info.st_gid = group;
  return info;
}

// Runs in a process of its own, as a user other than root if root can choose one.
bool accepts_mounted_secrets_alone() {
  const gid_t own = ::geteuid() == 0 ? kGroup : ::getegid();
  const pid_t child = ::fork();
  if (child == 0) {
    const bool is_user =
        ::geteuid() != 0 || (::setgroups(1, &kGroup) == 0 && ::setegid(kOther) == 0 && ::seteuid(64460) == 0);
    bool right = is_user && check_secret("f", mounted(0440, own)) && check_secret("f", mounted(0400, own));
    for (const mode_t mode : {0460U, 0444U, 0450U, 0640U | 02U})
      right = right && !check_secret("f", mounted(mode, own));
    right = right && !check_secret("f", mounted(0440, own + 2));
    struct stat of_user = mounted(0440, own);
    of_user.st_uid = ::geteuid();
    ::_exit(right && !check_secret("f", of_user) ? 0 : 1);
  }
  int status = -1;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

TEST_CASE("a file that grants access is trusted only if root and this process's user alone may write it") {
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

TEST_CASE("a secret may be accessed only by its owner") {
  for (const mode_t mode : {0400U, 0600U}) CHECK(check_secret("f", about(mode, ::geteuid())));
  for (const mode_t mode : {0440U, 0404U, 0620U, 0644U})
    CHECK(check_secret("f", about(mode, ::geteuid())).error().code == Errc::denied);
  CHECK(check_secret("f", about(0400, 65534)).has_value() == (::geteuid() == 0));
}

TEST_CASE("a Secret that a kubelet mounts for a pod's group is accepted only from root, and only read-only") {
  CHECK(accepts_mounted_secrets_alone());
  if (::geteuid() == 0) CHECK_FALSE(check_secret("f", mounted(0440, ::getegid())));
}

TEST_CASE("a missing file passes the check") {
  const wattle::test::TempDir dir;
  CHECK(check_authority(dir.file("none")));
  REQUIRE(write_file_atomically(dir.file("list"), "x", 0666));
  REQUIRE(::chmod(dir.file("list").c_str(), 0666) == 0);
  CHECK(check_authority(dir.file("list")).error().subject == dir.file("list"));
}
