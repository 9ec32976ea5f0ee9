#include "common/transport/allow_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "common/dir.hpp"

namespace wattle::transport {
namespace {

// Changes with the file.
std::string fingerprint(const struct stat& info) {
  return std::to_string(info.st_mtim.tv_sec) + "." + std::to_string(info.st_mtim.tv_nsec) + "/" +
         std::to_string(info.st_ctim.tv_sec) + "." + std::to_string(info.st_ctim.tv_nsec) + "/" +
         std::to_string(info.st_size) + "/" + std::to_string(info.st_ino);
}

Status check_trusted(const std::string& path, const struct stat& info) {
  if ((info.st_mode & 022U) != 0)
    return fail(Errc::denied, path, "its mode lets group or others write: whoever may, may let himself in",
                "chmod go-w " + path);
  if (info.st_uid != 0 && info.st_uid != ::geteuid())
    return fail(Errc::denied, path,
                "belongs to user " + std::to_string(info.st_uid) + ", neither root nor this process's user",
                "chown root " + path);
  return {};
}

}  // namespace

Status check_trusted(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0) return check_trusted(path, info);
  return errno == ENOENT ? Status() : Status(fail_errno(errno, path));
}

Result<std::optional<AllowList>> AllowFile::look() {
  auto found = read();
  problem_ = found ? std::nullopt : std::optional<Error>(found.error());
  return found;
}

Result<std::optional<AllowList>> AllowFile::read() {
  struct stat info {};
  if (::stat(path_.c_str(), &info) == 0 && fingerprint(info) == read_) return std::optional<AllowList>();
  auto file = open_file(path_);
  if (!file) return fail(file.error().code, path_, file.error().what, "allow keys with 'wattle keys allow'");
  // Of what is read, and before it is: a file that changes meanwhile differs at the next look.
  if (::fstat(file->fd(), &info) != 0) return fail_errno(errno, path_);
  WATTLE_CHECK(check_trusted(path_, info));
  if (info.st_size == 0 && !read_.empty())
    return fail(Errc::malformed, path_, "is empty, as a crash or an editor leaves it",
                "write the list again; a line that begins with '#' if nobody is to be allowed");
  WATTLE_TRY(const std::string text, file->read_all(kMaxKeyFileBytes));
  WATTLE_TRY(AllowList list, AllowList::parse(text, path_));
  read_ = fingerprint(info);
  return std::optional<AllowList>(std::move(list));
}

}  // namespace wattle::transport
