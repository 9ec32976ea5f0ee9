#include "common/transport/allow_file.hpp"

#include <sys/stat.h>

#include <cerrno>

#include "common/dir.hpp"
#include "common/trusted_file.hpp"

namespace wattle::transport {
namespace {

// Identifies one version of the file.
std::string fingerprint(const struct stat& info) {
  return std::to_string(info.st_mtim.tv_sec) + "." + std::to_string(info.st_mtim.tv_nsec) + "/" +
         std::to_string(info.st_ctim.tv_sec) + "." + std::to_string(info.st_ctim.tv_nsec) + "/" +
         std::to_string(info.st_size) + "/" + std::to_string(info.st_ino);
}

}  // namespace

Result<std::optional<AllowList>> AllowFile::look() {
  auto found = read();
  problem_ = found ? std::nullopt : std::optional<Error>(found.error());
  return found;
}

Result<std::optional<AllowList>> AllowFile::read() {
  struct stat info {};
  if (::stat(path_.c_str(), &info) == 0 && fingerprint(info) == read_) return std::optional<AllowList>();
  auto file = open_file(path_);
  if (!file) return fail(file.error().code, path_, file.error().what, "allow keys with `wattle keys allow`");
  // Taken from the open file before reading it, so that a change in the meantime is noticed at the next look.
  if (::fstat(file->fd(), &info) != 0) return fail_errno(errno, path_);
  WATTLE_CHECK(check_authority(path_, info));
  if (info.st_size == 0 && !read_.empty())
    return fail(Errc::malformed, path_, "is empty, possibly after a crash or an edit",
                "restore the list; to allow no key, write a line that starts with '#'");
  WATTLE_TRY(const std::string text, file->read_all(kMaxKeyFileBytes));
  WATTLE_TRY(AllowList list, AllowList::parse(text, path_));
  read_ = fingerprint(info);
  return std::optional<AllowList>(std::move(list));
}

}  // namespace wattle::transport
