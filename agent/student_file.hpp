// student_file: keeps the file of the student that the controller sends, for wattle-actuator.
// Rules    written whole when another one arrives, removed when the controller has none in use; a lost controller
//          changes nothing. The actuator checks the content
// Errors   logged once each: the file cannot be written or removed
// Threads  single owner
#pragma once

#include <memory>
#include <string>

#include "agent/link.hpp"
#include "common/log.hpp"

namespace wattle::agent {

class StudentFile {
 public:
  StudentFile(std::string path, const Log& log) : path_(std::move(path)), log_(log) {}
  // Call at each tick.
  void keep(const SentStudent& sent);

 private:
  void failed(const Error& error);

  const std::string path_;
  const Log& log_;
  std::shared_ptr<const std::string> written_;
  bool removed_ = false;
  std::string reported_;  // last error
};

}  // namespace wattle::agent
