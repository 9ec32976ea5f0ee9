// student_watch: loads the file of the network that moves margins (rules.student), and loads it again when it is
// replaced.
// Rules    a file that an operator names must be valid at the start (open_). The agent's may be missing or invalid; the
//          first look() reads it. Later an invalid file is reported once, and there is no network until it is valid
// Errors   those of provision/minute/student_file
// Cost     one stat every 10 s;  Threads  single owner
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "common/clock.hpp"
#include "common/result.hpp"
#include "provision/minute/student_file.hpp"

namespace wattle::actuator {

class StudentWatch {
 public:
  static Result<StudentWatch> open_(const std::string& path);
  explicit StudentWatch(std::string path) : path_(std::move(path)) {}
  // Current network; null: the rule moves the margins.
  const models::provision::Network& network() const { return network_; }
  // Returns true if network() has changed; an error if the file is invalid, and why.
  Result<bool> look(MonoTime now);

 private:
  // Version of the file as last read; all 0: no file.
  struct Version {
    std::uint64_t device = 0, inode = 0, bytes = 0;
    std::int64_t changed_ns = 0;
    bool operator==(const Version&) const = default;
  };
  Version version() const;

  std::string path_;
  Version read_;
  models::provision::Network network_;
  MonoTime looked_at_;
};

}  // namespace wattle::actuator
