#include "common/overwrite.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "common/dir.hpp"

namespace wattle {

Status overwrite_in_place(const std::string& path, std::string_view content) {
  constexpr std::int64_t kBlock = 512;  // unit of st_blocks
  const Fd fd(::open(path.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info {};
  if (!fd.valid() || ::fstat(fd.get(), &info) != 0) return fail_errno(errno, path);
  const auto size = static_cast<std::int64_t>(content.size());
  if (size > std::max<std::int64_t>(info.st_size, info.st_blocks * kBlock)) return fail_errno(ENOSPC, path);
  for (std::size_t done = 0; done < content.size();) {
    const ssize_t n = ::pwrite(fd.get(), content.data() + done, content.size() - done, static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(errno, path);
    done += static_cast<std::size_t>(n);
  }
  if (::ftruncate(fd.get(), size) != 0 || ::fsync(fd.get()) != 0) return fail_errno(errno, path);
  return {};
}

}  // namespace wattle
