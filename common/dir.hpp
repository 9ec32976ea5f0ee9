// dir: directories and files under an injected root, through owned handles.
// Source   any directory tree: the host's /sys or /proc, a mount of it, or a captured tree in a test
// Errors   not_found, denied, malformed (a directory, FIFO or device in place of a file; opening never blocks), io;
//          each names the path as the caller would write it
// Threads  single owner; pread is safe from several
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.hpp"

namespace wattle {

// A file descriptor that closes itself.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept;
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd();
  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int release() {
    const int fd = fd_;
    fd_ = -1;
    return fd;
  }

 private:
  int fd_ = -1;
};

// A file that stays open and is read repeatedly from its start, like kernel files.
class File {
 public:
  File(Fd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  // Reads at most buffer.size() bytes from offset 0; the view points into buffer.
  Result<std::string_view> read_into(std::span<char> buffer) const;
  // Reads with a single pread, for kernel files that are rendered in one go (sysfs, cgroup, pressure). A second read
  // that only finds the end would render them again.
  Result<std::string_view> read_once_into(std::span<char> buffer) const;
  // Reads the whole file, at most max_bytes.
  Result<std::string> read_all(std::size_t max_bytes = 1 << 20) const;
  const std::string& path() const { return path_; }
  int fd() const { return fd_.get(); }

 private:
  Fd fd_;
  std::string path_;
};

struct DirEntry {
  std::string name;
  bool is_dir = false;      // follows symbolic links
  std::uint64_t inode = 0;  // inode of the entry itself
};

// Like Dir::open_file and Dir::read_file, for a path outside a Dir.
Result<File> open_file(const std::string& path);
Result<std::string> read_file(const std::string& path, std::size_t max_bytes = 1 << 20);
// Checks that the path is a regular file or does not exist, before a library opens it by name.
Status check_regular(const std::string& path);

class Dir {
 public:
  static Result<Dir> open_(const std::string& path);
  Result<Dir> open_dir(const std::string& relative) const;
  Result<File> open_file(const std::string& relative) const;
  // Opens a bare descriptor, for callers that keep many. Each read passes the name again, for its error text.
  Result<Fd> open_fd(const char* relative) const;
  Result<std::string_view> read_into(const Fd& file, const char* relative, std::span<char> buffer) const;
  Result<std::string_view> read_once_into(const Fd& file, const char* relative, std::span<char> buffer) const;
  // Opens, reads all and closes.
  Result<std::string> read_file(const std::string& relative, std::size_t max_bytes = 1 << 20) const;
  // Sorted by name, without "." and "..".
  Result<std::vector<DirEntry>> list() const;
  bool exists(const std::string& relative) const;
  // Target of the symbolic link.
  Result<std::string> read_link(const std::string& relative) const;
  // Inode number; for a cgroup directory this is the 64-bit cgroup id.
  Result<std::uint64_t> inode() const;
  // Inode number of an entry below, without opening it.
  Result<std::uint64_t> inode_of(const std::string& relative) const;
  // Hard-link count; for a cgroup directory, the number of children plus two.
  Result<std::uint64_t> link_count() const;
  const std::string& path() const { return path_; }
  int fd() const { return fd_.get(); }

 private:
  Dir(Fd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  Fd fd_;
  std::string path_;
};

// Writes beside the target, fsyncs, renames over it and fsyncs the directory: either the old or the new content exists.
// The mode is exactly `mode`. Root keeps the owner of the old file.
Status write_file_atomically(const std::string& path, std::string_view content, unsigned mode = 0644);

// Like mkdir -p.
Status make_dirs(const std::string& path, unsigned mode = 0755);

}  // namespace wattle
