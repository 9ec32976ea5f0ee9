#include "actuator/os.hpp"

#include <unistd.h>

#include <cerrno>

#include "common/dir.hpp"

namespace wattle::actuator {

namespace {
template <class Call>
ssize_t until_done(const Call& call) {
  for (;;) {
    const ssize_t n = call();
    if (n >= 0) return n;
    if (errno != EINTR) return -errno;
  }
}
}  // namespace

ssize_t Os::append(int fd, std::string_view text) {
  return until_done([&] { return ::write(fd, text.data(), text.size()); });
}

int Os::sync(int fd) {
  return static_cast<int>(until_done([&] { return static_cast<ssize_t>(::fdatasync(fd)); }));
}

ssize_t Os::put(int fd, std::string_view text) {
  return until_done([&] { return ::pwrite(fd, text.data(), text.size(), 0); });
}

Status Os::replace(const std::string& path, std::string_view text) { return write_file_atomically(path, text, 0600); }

}  // namespace wattle::actuator
