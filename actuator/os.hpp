// os: the system calls that change limits and their record, in one place, so that a test can end the process between
// any two of them.
// Errors   as in the calls: -errno
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
  // Appends to a file opened with O_APPEND.
  virtual ssize_t append(int fd, std::string_view text);
  virtual int sync(int fd);
  // Writes at the start of a kernel file, in one call.
  virtual ssize_t put(int fd, std::string_view text);
  // Replaces the file atomically: either the old or the new content exists.
  virtual Status replace(const std::string& path, std::string_view text);
};

}  // namespace wattle::actuator
