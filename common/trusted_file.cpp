#include "common/trusted_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <vector>

namespace wattle {
namespace {

bool is_foreign(const struct stat& info) { return info.st_uid != 0 && info.st_uid != ::geteuid(); }

bool is_own_group(gid_t group) {
  if (group == ::getegid()) return true;
  std::vector<gid_t> groups(static_cast<std::size_t>(std::max(::getgroups(0, nullptr), 0)));
  groups.resize(static_cast<std::size_t>(std::max(::getgroups(static_cast<int>(groups.size()), groups.data()), 0)));
  return std::find(groups.begin(), groups.end(), group) != groups.end();
}

// A kubelet gives the files of a mounted Secret to root and to the pod's fsGroup, which may read them.
bool is_mounted_secret(const struct stat& info) {
  return ::geteuid() != 0 && info.st_uid == 0 && (info.st_mode & 037U) == 0 && is_own_group(info.st_gid);
}

Status foreign(const std::string& path, const struct stat& info) {
  return fail(Errc::denied, path,
              "belongs to user " + std::to_string(info.st_uid) + ", which is neither root nor this process's user",
              "chown root " + path);
}

}  // namespace

Status check_authority(const std::string& path, const struct stat& info) {
  WATTLE_CHECK(check_trust_anchor(path, info));
  return is_foreign(info) ? foreign(path, info) : Status();
}

Status check_trust_anchor(const std::string& path, const struct stat& info) {
  if ((info.st_mode & 022U) != 0)
    return fail(Errc::denied, path, "group or others can write to it and thereby change who is trusted",
                "chmod go-w " + path);
  return ::geteuid() != 0 && is_foreign(info) ? foreign(path, info) : Status();
}

Status check_authority(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0) return check_authority(path, info);
  return errno == ENOENT ? Status() : Status(fail_errno(errno, path));
}

Status check_secret(const std::string& path, const struct stat& info) {
  if ((info.st_mode & 077U) != 0 && !is_mounted_secret(info))
    return fail(Errc::denied, path, "group or others can access a secret key or token", "chmod 0400 " + path);
  return ::geteuid() != 0 && is_foreign(info) ? foreign(path, info) : Status();
}

}  // namespace wattle
