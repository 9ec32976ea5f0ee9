#include "common/dir.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <filesystem>
#include <memory>
#include <system_error>

namespace wattle {

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = other.release();
  }
  return *this;
}

Fd::~Fd() {
  if (fd_ >= 0) ::close(fd_);
}

namespace {
std::string join(const std::string& base, const std::string& relative) {
  return relative.empty() ? base : base + (base.ends_with('/') ? "" : "/") + relative;
}

// Strips leading slashes: openat would follow an absolute path out of the root.
const char* below(const char* path) {
  while (*path == '/') ++path;
  return *path == '\0' ? "." : path;
}
const char* below(const std::string& relative) { return below(relative.c_str()); }

std::string_view kind_of(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFDIR:
      return "is a directory, not a file";
    case S_IFIFO:
      return "is a FIFO, not a file";
    case S_IFSOCK:
      return "is a socket, not a file";
    default:
      return "is a device, not a file";
  }
}

Error no_file(mode_t mode, std::string path) {
  return {Errc::malformed, std::move(path), std::string(kind_of(mode)), "use a regular file"};
}

// O_NONBLOCK keeps open() from blocking on a FIFO without a writer. `path` is called only for the text of an error.
template <class Path>
Result<Fd> open_regular(int at, const char* relative, const Path& path) {
  Fd fd(::openat(at, relative, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  const int why = errno;
  struct stat info {};
  if (fd.valid() ? ::fstat(fd.get(), &info) != 0 : why != ENXIO || ::fstatat(at, relative, &info, 0) != 0)
    return fail_errno(fd.valid() ? errno : why, path());
  if (!S_ISREG(info.st_mode)) return tl::unexpected<Error>(no_file(info.st_mode, path()));
  if (!fd.valid()) return fail_errno(why, path());
  return fd;
}

// `path` is called only for the text of an error.
template <class Path>
Result<std::string_view> read_whole(int fd, std::span<char> buffer, const Path& path) {
  std::size_t used = 0;
  while (used < buffer.size()) {
    const ssize_t n = ::pread(fd, buffer.data() + used, buffer.size() - used, static_cast<off_t>(used));
    if (n < 0) {
      const int why = errno;
      if (why == EINTR) continue;
      return fail_errno(why, path());
    }
    if (n == 0) break;
    used += static_cast<std::size_t>(n);
  }
  return std::string_view(buffer.data(), used);
}

template <class Path>
Result<std::string_view> read_once(int fd, std::span<char> buffer, const Path& path) {
  for (;;) {
    const ssize_t n = ::pread(fd, buffer.data(), buffer.size(), 0);
    if (n >= 0) return std::string_view(buffer.data(), static_cast<std::size_t>(n));
    if (const int why = errno; why != EINTR) return fail_errno(why, path());
  }
}
}  // namespace

Result<std::string_view> File::read_into(std::span<char> buffer) const {
  return read_whole(fd_.get(), buffer, [&] { return path_; });
}

Result<std::string_view> File::read_once_into(std::span<char> buffer) const {
  return read_once(fd_.get(), buffer, [&] { return path_; });
}

Result<std::string> File::read_all(std::size_t max_bytes) const {
  std::string text;
  std::array<char, 16384> chunk;
  for (;;) {
    const ssize_t n = ::pread(fd_.get(), chunk.data(), chunk.size(), static_cast<off_t>(text.size()));
    if (n < 0) {
      if (errno == EINTR) continue;
      return fail_errno(errno, path_);
    }
    if (n == 0) return text;
    if (text.size() + static_cast<std::size_t>(n) > max_bytes)
      return fail(Errc::out_of_range, path_, "larger than " + std::to_string(max_bytes) + " bytes");
    text.append(chunk.data(), static_cast<std::size_t>(n));
  }
}

Result<File> open_file(const std::string& path) {
  if (path.empty()) return fail(Errc::not_found, "file name", "is empty");
  WATTLE_TRY(Fd fd, open_regular(AT_FDCWD, path.c_str(), [&] { return path; }));
  return File(std::move(fd), path);
}

Result<std::string> read_file(const std::string& path, std::size_t max_bytes) {
  WATTLE_TRY(const File file, open_file(path));
  return file.read_all(max_bytes);
}

Status check_regular(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return errno == ENOENT ? Status() : Status(fail_errno(errno, path));
  if (S_ISREG(info.st_mode)) return {};
  return tl::unexpected<Error>(no_file(info.st_mode, path));
}

Result<Dir> Dir::open_(const std::string& path) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return fail_errno(errno, path);
  return Dir(std::move(fd), path);
}

Result<Dir> Dir::open_dir(const std::string& relative) const {
  Fd fd(::openat(fd_.get(), below(relative), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return fail_errno(errno, join(path_, relative));
  return Dir(std::move(fd), join(path_, relative));
}

Result<File> Dir::open_file(const std::string& relative) const {
  WATTLE_TRY(Fd fd, open_regular(fd_.get(), below(relative), [&] { return join(path_, relative); }));
  return File(std::move(fd), join(path_, relative));
}

Result<Fd> Dir::open_fd(const char* relative) const {
  return open_regular(fd_.get(), below(relative), [&] { return join(path_, relative); });
}

Result<std::string_view> Dir::read_into(const Fd& file, const char* relative, std::span<char> buffer) const {
  return read_whole(file.get(), buffer, [&] { return join(path_, relative); });
}

Result<std::string_view> Dir::read_once_into(const Fd& file, const char* relative, std::span<char> buffer) const {
  return read_once(file.get(), buffer, [&] { return join(path_, relative); });
}

Result<std::string> Dir::read_file(const std::string& relative, std::size_t max_bytes) const {
  WATTLE_TRY(File file, open_file(relative));
  return file.read_all(max_bytes);
}

Result<std::vector<DirEntry>> Dir::list() const {
  // fdopendir takes over the descriptor and its position, so it gets a separate one.
  Fd own(::openat(fd_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!own.valid()) return fail_errno(errno, path_);
  std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(own.get()), ::closedir);
  if (!stream) return fail_errno(errno, path_);
  own.release();
  std::vector<DirEntry> entries;
  errno = 0;
  while (const dirent* entry = ::readdir(stream.get())) {
    std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    bool is_dir = entry->d_type == DT_DIR;
    if (entry->d_type == DT_LNK || entry->d_type == DT_UNKNOWN) {
      struct stat info {};
      is_dir = ::fstatat(fd_.get(), name.c_str(), &info, 0) == 0 && S_ISDIR(info.st_mode);
    }
    entries.push_back({std::move(name), is_dir, static_cast<std::uint64_t>(entry->d_ino)});
    errno = 0;
  }
  if (errno != 0) return fail_errno(errno, path_);
  std::sort(entries.begin(), entries.end(), [](const DirEntry& a, const DirEntry& b) { return a.name < b.name; });
  return entries;
}

bool Dir::exists(const std::string& relative) const { return ::faccessat(fd_.get(), below(relative), F_OK, 0) == 0; }

Result<std::string> Dir::read_link(const std::string& relative) const {
  std::array<char, PATH_MAX> target;
  const ssize_t n = ::readlinkat(fd_.get(), below(relative), target.data(), target.size());
  if (n < 0) return fail_errno(errno, join(path_, relative));
  return std::string(target.data(), static_cast<std::size_t>(n));
}

Result<std::uint64_t> Dir::inode() const {
  struct stat info {};
  if (::fstat(fd_.get(), &info) != 0) return fail_errno(errno, path_);
  return static_cast<std::uint64_t>(info.st_ino);
}

Result<std::uint64_t> Dir::inode_of(const std::string& relative) const {
  struct stat info {};
  if (::fstatat(fd_.get(), below(relative), &info, 0) != 0) return fail_errno(errno, join(path_, relative));
  return static_cast<std::uint64_t>(info.st_ino);
}

Result<std::uint64_t> Dir::link_count() const {
  struct stat info {};
  if (::fstat(fd_.get(), &info) != 0) return fail_errno(errno, path_);
  return static_cast<std::uint64_t>(info.st_nlink);
}

Status write_file_atomically(const std::string& path, std::string_view content, unsigned mode) {
  if (path.empty()) return fail(Errc::not_found, "file name", "is empty");
  const std::string temporary = path + ".tmp." + std::to_string(::getpid());
  const auto give_up = [&](int error_number) {
    ::unlink(temporary.c_str());
    return fail_errno(error_number, path);  // names the path that the caller knows
  };
  {
    // Never reuses an existing file: another process would have chosen its mode, and may have it open.
    ::unlink(temporary.c_str());
    Fd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
    if (!fd.valid()) return fail_errno(errno, path);
    struct stat before {};
    const bool foreign = ::geteuid() == 0 && ::stat(path.c_str(), &before) == 0 && before.st_uid != 0;
    if (foreign && ::fchown(fd.get(), before.st_uid, before.st_gid) != 0) return give_up(errno);
    if (::fchmod(fd.get(), mode) != 0) return give_up(errno);
    while (!content.empty()) {
      const ssize_t n = ::write(fd.get(), content.data(), content.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return give_up(errno);
      content.remove_prefix(static_cast<std::size_t>(n));
    }
    if (::fsync(fd.get()) != 0) return give_up(errno);
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    const int error_number = errno;
    ::unlink(temporary.c_str());
    return fail_errno(error_number, path);
  }
  const std::string parent = std::filesystem::path(path).parent_path().string();
  Fd dir(::open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!dir.valid() || ::fsync(dir.get()) != 0) return fail_errno(errno, parent);
  return {};
}

Status make_dirs(const std::string& path, unsigned mode) {
  std::error_code error;
  const bool created = std::filesystem::create_directories(path, error);
  if (error) return fail_errno(error.value(), path);
  if (created && ::chmod(path.c_str(), mode) != 0) return fail_errno(errno, path);
  return {};
}

}  // namespace wattle
