// allow_watch: reloads the allow list while the controller runs. It checks the file each second, and changes apply at
// once. It also ends the admissions of readers that have expired.
// Errors   an unreadable list is logged once and the previous one stays in force; retried each second
// Threads  single owner
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/clock.hpp"
#include "common/log.hpp"
#include "common/transport/allow_file.hpp"
#include "common/transport/sockets.hpp"

namespace wattle::controller {

class AllowWatch {
 public:
  // The arguments must outlive this object.
  AllowWatch(transport::AllowFile& file, transport::Context& context, const Log& log, std::uint64_t descriptor_limit)
      : file_(file), context_(context), log_(log), descriptor_limit_(descriptor_limit) {}
  // Returns the keys that were removed, or given to another name or role. The caller ends their sessions.
  std::vector<transport::Revoked> look(MonoTime now);
  std::uint64_t revoked() const { return revoked_; }

 private:
  transport::AllowFile& file_;
  transport::Context& context_;
  const Log& log_;
  const std::uint64_t descriptor_limit_;
  MonoTime looked_{};
  std::string problem_;  // why the list was not read, as logged
  std::uint64_t revoked_ = 0;
};

}  // namespace wattle::controller
