#include "common/state_lock.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <optional>

#include "tests/unit/common/temp_dir.hpp"

using namespace wattle;

TEST_CASE("a controller's state has one owner at a time, and the next one once that owner has ended") {
  const wattle::test::TempDir folder;
  std::optional<StateLock> held = std::move(*StateLock::take(folder.path()));
  const auto second = StateLock::take(folder.path());
  REQUIRE_FALSE(second);
  CHECK(second.error().code == Errc::conflict);
  CHECK(second.error().message().find(folder.path()) != std::string::npos);
  CHECK(second.error().message().find("systemctl stop wattle-controller") != std::string::npos);
  // As another access to the file in the same process does
  ::close(::open(held->path().c_str(), O_RDONLY));
  CHECK_FALSE(StateLock::take(folder.path()));
  held.reset();
  CHECK(StateLock::take(folder.path()));
  CHECK(std::filesystem::exists(folder.file("lock")));
}

TEST_CASE("a lock ends with its process, however it ends") {
  const wattle::test::TempDir folder;
  int ready[2];
  REQUIRE(::pipe(ready) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto lock = StateLock::take(folder.path());
    const char reported = lock ? 'y' : 'n';
    if (::write(ready[1], &reported, 1) != 1) ::_exit(1);
    ::pause();
    ::_exit(0);
  }
  char reported = 0;
  REQUIRE(::read(ready[0], &reported, 1) == 1);
  REQUIRE(reported == 'y');
  const auto meanwhile = StateLock::take(folder.path());
  REQUIRE_FALSE(meanwhile);
  CHECK(meanwhile.error().code == Errc::conflict);
  ::kill(child, SIGKILL);
  CHECK(::waitpid(child, nullptr, 0) == child);
  CHECK(StateLock::take(folder.path()));
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_CASE("a lock does not follow links, and is not created without its folder") {
  const wattle::test::TempDir folder;
  std::filesystem::create_symlink("/etc/passwd", folder.file("lock"));
  CHECK_FALSE(StateLock::take(folder.path()));
  const auto nowhere = StateLock::take(folder.file("none"));
  REQUIRE_FALSE(nowhere);
  CHECK(nowhere.error().code == Errc::not_found);
}
