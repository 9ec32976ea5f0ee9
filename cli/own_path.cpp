#include "cli/own_path.hpp"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <list>

namespace wattle::cli {

namespace {

namespace fs = std::filesystem;
constexpr int kMostLinks = 40;  // limit of the kernel

std::string user_of(uid_t uid) {
  const passwd* const user = ::getpwuid(uid);
  return user != nullptr ? user->pw_name : "uid " + std::to_string(uid);
}

tl::unexpected<Error> refused(const std::string& path, const struct stat& about, const std::string& what) {
  return fail(Errc::denied, path, what,
              about.st_uid == ::geteuid() ? "chmod go-w " + path + ", or use another folder: --folder FOLDER"
                                          : "run it as " + user_of(about.st_uid) +
                                                ", or use a folder that only you can write to: --folder FOLDER");
}

Status check_part(const std::string& path, const struct stat& about) {
  if (about.st_uid != 0 && about.st_uid != ::geteuid())
    return refused(path, about, "belongs to " + user_of(about.st_uid) + ", who could replace the files below it");
  const bool open = S_ISDIR(about.st_mode) && (about.st_mode & S_IWOTH) != 0 && (about.st_mode & S_ISVTX) == 0;
  if (open) return refused(path, about, "every user can write to it");
  return {};
}

}  // namespace

Status check_own_path(const std::string& path) {
  struct stat about {};
  if (::lstat(path.c_str(), &about) == 0) {
    const bool link = S_ISLNK(about.st_mode);
    if (link || !S_ISDIR(about.st_mode))
      return fail(Errc::denied, path, link ? "is a symbolic link" : "is not a folder",
                  "use another folder: --folder FOLDER");
    if (about.st_uid != ::geteuid()) return refused(path, about, "belongs to " + user_of(about.st_uid));
  }
  std::list<fs::path> left;
  for (const fs::path& part : fs::path(path).relative_path()) left.push_back(part);
  fs::path at = "/";
  int links = 0;
  while (!left.empty()) {
    const fs::path part = left.front();
    left.pop_front();
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      at = at.parent_path();
      continue;
    }
    const fs::path next = at / part;
    if (::lstat(next.c_str(), &about) != 0) {
      if (errno == ENOENT) return {};
      return fail_errno(errno, next.string());
    }
    WATTLE_CHECK(check_part(next.string(), about));
    if (!S_ISLNK(about.st_mode)) {
      at = next;
      continue;
    }
    std::error_code error;
    const fs::path target = fs::read_symlink(next, error);
    if (error || ++links > kMostLinks) return fail(Errc::malformed, next.string(), "contains too many symbolic links");
    if (target.is_absolute()) at = "/";
    const fs::path relative = target.relative_path();
    left.insert(left.begin(), relative.begin(), relative.end());
  }
  return {};
}

}  // namespace wattle::cli
