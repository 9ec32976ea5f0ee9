#include "common/dir.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <array>

#include "temp_dir.hpp"

using namespace wattle;
using wattle::test::TempDir;

TEST_CASE("files are read below their root, and an absolute path does not leave it") {
  const TempDir temp;
  REQUIRE(make_dirs(temp.file("sys/class")));
  REQUIRE(write_file_atomically(temp.file("sys/class/energy"), "42\n"));
  const auto root = Dir::open_(temp.path());
  REQUIRE(root);
  CHECK(root->read_file("sys/class/energy").value() == "42\n");
  CHECK(root->read_file("/sys/class/energy").value() == "42\n");
  CHECK_FALSE(root->read_file("/etc/passwd"));
  CHECK(root->exists("sys/class"));
  CHECK_FALSE(root->exists("sys/block"));
  const auto inner = root->open_dir("sys");
  REQUIRE(inner);
  CHECK(inner->read_file("class/energy").value() == "42\n");
  CHECK(inner->path() == temp.path() + "/sys");
}

TEST_CASE("an error names the path as the caller writes it") {
  const TempDir temp;
  const auto root = Dir::open_(temp.path());
  const auto file = root->read_file("no/such");
  REQUIRE_FALSE(file);
  CHECK(file.error().code == Errc::not_found);
  CHECK(file.error().subject == temp.path() + "/no/such");
  CHECK(Dir::open_(temp.file("none")).error().subject == temp.file("none"));
}

TEST_CASE("a listing is sorted and detects directories through links") {
  const TempDir temp;
  REQUIRE(make_dirs(temp.file("b")));
  REQUIRE(write_file_atomically(temp.file("c"), ""));
  std::filesystem::create_directory_symlink("b", temp.file("a"));
  const auto root = Dir::open_(temp.path());
  const auto entries = root->list();
  REQUIRE(entries);
  REQUIRE(entries->size() == 3);
  CHECK(entries->at(0).name == "a");
  CHECK(entries->at(0).is_dir);
  CHECK(entries->at(1).is_dir);
  CHECK_FALSE(entries->at(2).is_dir);
  CHECK(root->list().value().size() == 3);
  CHECK(root->read_link("a").value() == "b");
  CHECK_FALSE(root->read_link("c"));
}

TEST_CASE("an open file is read again each time") {
  const TempDir temp;
  const std::string path = temp.file("stat");
  REQUIRE(write_file_atomically(path, "one"));
  const auto root = Dir::open_(temp.path());
  const auto file = root->open_file("stat");
  REQUIRE(file);
  std::array<char, 8> buffer{};
  CHECK(file->read_into(buffer).value() == "one");
  const Fd out(::open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
  REQUIRE(::write(out.get(), "two, longer", 11) == 11);
  CHECK(file->read_into(buffer).value() == "two, lon");
  CHECK(file->read_all().value() == "two, longer");
  CHECK(file->read_all(5).error().code == Errc::out_of_range);
}

TEST_CASE("a bare descriptor is read as a file is, and its errors name the path too") {
  const TempDir temp;
  REQUIRE(write_file_atomically(temp.file("stat"), "one"));
  const auto root = Dir::open_(temp.path());
  const auto file = root->open_fd("stat");
  REQUIRE(file);
  std::array<char, 8> buffer{};
  CHECK(root->read_into(*file, "stat", buffer).value() == "one");
  CHECK(root->read_once_into(*file, "stat", buffer).value() == "one");
  CHECK(root->open_fd("none").error().code == Errc::not_found);
  CHECK(root->open_fd("none").error().subject == temp.file("none"));
  const Fd closed;
  CHECK(root->read_once_into(closed, "stat", buffer).error().subject == temp.file("stat"));
}

TEST_CASE("each directory has its own inode") {
  const TempDir temp;
  const auto root = Dir::open_(temp.path());
  struct stat info {};
  REQUIRE(::stat(temp.path().c_str(), &info) == 0);
  CHECK(root->inode().value() == info.st_ino);
}

TEST_CASE("an atomic write replaces the whole file, sets its mode and leaves no temporary file") {
  const TempDir temp;
  const std::string path = temp.file("state");
  REQUIRE(write_file_atomically(path, "a longer first text"));
  REQUIRE(write_file_atomically(path, "second", 0600));
  const auto root = Dir::open_(temp.path());
  CHECK(root->read_file("state").value() == "second");
  CHECK(root->list().value().size() == 1);
  struct stat info {};
  REQUIRE(::stat(path.c_str(), &info) == 0);
  CHECK((info.st_mode & 0777U) == 0600);
  CHECK_FALSE(write_file_atomically(temp.file("no/such/state"), "x"));
}

TEST_CASE("a descriptor has one owner") {
  const TempDir temp;
  Fd first(::open(temp.path().c_str(), O_RDONLY | O_CLOEXEC));
  const int number = first.get();
  Fd second(std::move(first));
  CHECK_FALSE(first.valid());
  CHECK(second.get() == number);
  second = Fd();
  CHECK(::fcntl(number, F_GETFD) == -1);
}

TEST_CASE("a path that is not a regular file is reported at once, without blocking") {
  const TempDir temp;
  REQUIRE(::mkfifo(temp.file("fifo").c_str(), 0600) == 0);
  REQUIRE(make_dirs(temp.file("folder")));
  REQUIRE(::mknod(temp.file("socket").c_str(), S_IFSOCK | 0600, 0) == 0);
  const auto root = Dir::open_(temp.path());
  REQUIRE(root);
  for (const auto& is : {std::pair{"fifo", "is a FIFO, not a file"},
                         {"folder", "is a directory, not a file"},
                         {"socket", "is a socket, not a file"}}) {
    const std::string name = is.first, what = is.second;
    CAPTURE(name);
    for (const Error& error : {root->read_file(name).error(), root->open_fd(name.c_str()).error(),
                               read_file(temp.file(name)).error(), check_regular(temp.file(name)).error()}) {
      CHECK(error.code == Errc::malformed);
      CHECK(error.subject == temp.file(name));
      CHECK(error.what == what);
      CHECK_FALSE(error.fix.empty());
    }
  }
  CHECK(read_file("/dev/null").error().what == "is a device, not a file");
  for (const Error& error : {read_file("").error(), write_file_atomically("", "a").error()})
    CHECK(error.message().find("file name: is empty") != std::string::npos);
  CHECK(check_regular(temp.file("none")));
  CHECK(read_file(temp.file("none")).error().code == Errc::not_found);
  REQUIRE(write_file_atomically(temp.file("fifo"), "now a file\n"));
  CHECK(read_file(temp.file("fifo")).value() == "now a file\n");
}
