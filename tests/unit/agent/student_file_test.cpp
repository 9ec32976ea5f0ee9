// student_file: the student's file on a node, as the controller sends it, and removed when there is none.
#include "agent/student_file.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "common/dir.hpp"
#include "tests/unit/common/temp_dir.hpp"

using namespace wattle;
using namespace wattle::agent;

namespace {
SentStudent sent(std::uint64_t version, const std::string& bytes) {
  return {version, std::make_shared<const std::string>(bytes)};
}
ino_t inode(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? info.st_ino : 0;
}
}  // namespace

TEST_CASE("the file has the sent bytes, is readable by the group, and is removed when the controller has none") {
  const wattle::test::TempDir dir;
  const Log log = Log::silent();
  const std::string path = dir.path() + "/student";
  StudentFile file(path, log);
  file.keep({3, nullptr});  // not received yet
  CHECK(inode(path) == 0);
  const SentStudent first = sent(3, std::string("one\0two", 7));
  file.keep(first);
  CHECK(read_file(path, 100).value() == *first.file);
  struct stat info {};
  REQUIRE(::stat(path.c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0640);
  file.keep(sent(4, "another"));
  CHECK(read_file(path, 100).value() == "another");
  file.keep({0, nullptr});
  CHECK(inode(path) == 0);
  file.keep({0, nullptr});
  file.keep(sent(5, "third"));
  CHECK(read_file(path, 100).value() == "third");
}

TEST_CASE("the same student is not written again, also after a restart of the agent") {
  const wattle::test::TempDir dir;
  const Log log = Log::silent();
  const std::string path = dir.path() + "/student";
  StudentFile(path, log).keep(sent(3, "bytes"));
  const ino_t before = inode(path);
  StudentFile again(path, log);
  again.keep(sent(3, "bytes"));
  again.keep(sent(3, "bytes"));
  CHECK(inode(path) == before);
  again.keep(sent(3, "byteS"));
  CHECK(inode(path) != before);
}

TEST_CASE("if the folder is missing the file is written once the folder exists") {
  const wattle::test::TempDir dir;
  const Log log = Log::silent();
  const std::string path = dir.path() + "/folder/student";
  StudentFile file(path, log);
  const SentStudent student = sent(1, "bytes");
  file.keep(student);
  CHECK(inode(path) == 0);
  REQUIRE(make_dirs(dir.path() + "/folder", 0700));
  file.keep(student);
  CHECK(read_file(path, 100).value() == "bytes");
}
