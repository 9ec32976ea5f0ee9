// allow_watch: the allow list while the controller runs: its file is looked at each second, and what it says is in force at once.
// Errors   a list that cannot be read is logged once, and the one before stays; tried again each second
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
  // They outlive this.
  AllowWatch(transport::AllowFile& file, transport::Context& context, const Log& log, std::uint64_t descriptor_limit)
      : file_(file), context_(context), log_(log), descriptor_limit_(descriptor_limit) {}
  // Who was taken off, or given to another name or role; their sessions are the caller's to end.
  std::vector<transport::Revoked> look(MonoTime now);
  std::uint64_t revoked() const { return revoked_; }

 private:
  transport::AllowFile& file_;
  transport::Context& context_;
  const Log& log_;
  const std::uint64_t descriptor_limit_;
  MonoTime looked_{};
  std::string problem_;  // why it was not read, as logged
  std::uint64_t revoked_ = 0;
};

}  // namespace wattle::controller
