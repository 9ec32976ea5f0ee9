// os: the system calls by which limits and their record are changed, in one place: a test ends the process between any two.
// Errors   as the calls: -errno
// Threads  any
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "common/result.hpp"

namespace wattle::actuator {

class Os {
 public:
  Os() = default;
  Os(const Os&) = delete;
  Os& operator=(const Os&) = delete;
  virtual ~Os() = default;
  // At the end of a file that was opened to append.
  virtual ssize_t append(int fd, std::string_view text);
  virtual int sync(int fd);
  // At the start of a kernel file, in one call.
  virtual ssize_t put(int fd, std::string_view text);
  // Either the old or the new content exists.
  virtual Status replace(const std::string& path, std::string_view text);
};

}  // namespace wattle::actuator
