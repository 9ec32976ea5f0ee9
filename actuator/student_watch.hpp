// student_watch: the file of the network that moves margins (rules.student), read again when another is put in its place.
// Rules    at the start it must be right; later one that is not is told once, and there is no network until it is right again
// Errors   those of models/provision/student_file
// Cost     a stat each 10 s;  Threads  single owner
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "common/clock.hpp"
#include "common/result.hpp"
#include "models/provision/student_file.hpp"

namespace wattle::actuator {

class StudentWatch {
 public:
  static Result<StudentWatch> open_(const std::string& path);
  // None: the rule serves.
  const models::provision::Network& network() const { return network_; }
  // True: network() is another; an error: it is none, and why.
  Result<bool> look(MonoTime now);

 private:
  // Of the file as it was read last; all 0: there was none.
  struct Version {
    std::uint64_t device = 0, inode = 0, bytes = 0;
    std::int64_t changed_ns = 0;
    bool operator==(const Version&) const = default;
  };
  explicit StudentWatch(std::string path) : path_(std::move(path)) {}
  Version version() const;

  std::string path_;
  Version read_;
  models::provision::Network network_;
  MonoTime looked_at_;
};

}  // namespace wattle::actuator
