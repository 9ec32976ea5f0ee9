#include "common/transport/allow_file.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "common/dir.hpp"
#include "common/trusted_file.hpp"
#include "tests/unit/common/temp_dir.hpp"

using namespace wattle;
using namespace wattle::transport;
using wattle::test::TempDir;

namespace {

std::string line(const KeyPair& pair) { return pair.public_key + " reader ops\n"; }

// A program that has no file descriptor left.
class NoDescriptors {
 public:
  NoDescriptors() {
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before_) == 0);
    const Fd next(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    const rlimit none{static_cast<rlim_t>(next.get()), before_.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  }
  ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

}  // namespace

TEST_CASE("a changed list that could not be read is read as soon as possible") {
  const TempDir dir;
  const std::string path = dir.file("allow");
  const KeyPair stays = KeyPair::generate(), revoked = KeyPair::generate();
  REQUIRE(write_file_atomically(path, line(stays) + line(revoked)));
  AllowFile file(path);
  REQUIRE(file.look().value()->find(revoked.public_key) != nullptr);
  CHECK_FALSE(file.look().value());  // unchanged
  REQUIRE(write_file_atomically(path, line(stays)));
  {
    const NoDescriptors out_of_them;
    for (int second = 0; second < 3; ++second) {
      const auto looked = file.look();
      CHECK_FALSE(looked);
      REQUIRE(file.problem());
      CHECK(file.problem()->subject == path);
    }
  }
  const auto list = file.look();
  REQUIRE(list);
  REQUIRE(*list);
  CHECK((*list)->find(revoked.public_key) == nullptr);
  CHECK((*list)->find(stays.public_key) != nullptr);
  CHECK_FALSE(file.problem());
}

TEST_CASE("a missing, damaged, empty or irregular file keeps the old list, and is reported until it is fixed") {
  const TempDir dir;
  const std::string path = dir.file("allow");
  const KeyPair pair = KeyPair::generate();
  REQUIRE(write_file_atomically(path, line(pair)));
  AllowFile file(path);
  REQUIRE(file.look().value());
  const auto refused = [&](Errc code, const std::string& what) {
    for (int second = 0; second < 2; ++second) {
      const auto looked = file.look();
      REQUIRE_FALSE(looked);
      CHECK(looked.error().code == code);
      CHECK(looked.error().what.find(what) != std::string::npos);
      CHECK_FALSE(looked.error().message().empty());
    }
    std::filesystem::remove_all(path);
    REQUIRE(write_file_atomically(path, line(pair)));
    CHECK(file.look().value());
    CHECK_FALSE(file.problem());
  };
  std::filesystem::remove(path);
  refused(Errc::not_found, "No such file");
  std::ofstream(path, std::ios::trunc).flush();
  refused(Errc::malformed, "is empty");
  REQUIRE(write_file_atomically(path, "who knows\n"));
  refused(Errc::malformed, "1 error\n");
  std::filesystem::remove(path);
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  refused(Errc::malformed, "is a FIFO");
  std::filesystem::remove(path);
  REQUIRE(::mkdir(path.c_str(), 0700) == 0);
  refused(Errc::malformed, "is a directory");
  REQUIRE(::chmod(path.c_str(), 0664) == 0);
  refused(Errc::denied, "group or others can write to it");
  REQUIRE(::chmod(path.c_str(), 0646) == 0);
  refused(Errc::denied, "group or others can write to it");
}

TEST_CASE("at the start an empty list has no peers; a list with only comments never has any") {
  const TempDir dir;
  const std::string path = dir.file("allow");
  std::ofstream(path).flush();
  AllowFile file(path);
  CHECK(file.look().value()->size() == 0);
  REQUIRE(write_file_atomically(path, line(KeyPair::generate())));
  CHECK(file.look().value()->size() == 1);
  REQUIRE(write_file_atomically(path, "# nobody\n"));
  CHECK(file.look().value()->size() == 0);
}

TEST_CASE("a list with another owner is refused") {
  const TempDir dir;
  const std::string path = dir.file("allow");
  REQUIRE(write_file_atomically(path, line(KeyPair::generate())));
  CHECK(wattle::check_authority(path));
  CHECK(wattle::check_authority(dir.file("none")));
  if (::geteuid() != 0) {
    MESSAGE("skipped: only root can change a file's owner");
    return;
  }
  REQUIRE(::chown(path.c_str(), 65534, 65534) == 0);
  CHECK(wattle::check_authority(path).error().what.find("belongs to user 65534") != std::string::npos);
  CHECK(AllowFile(path).look().error().code == Errc::denied);
}
