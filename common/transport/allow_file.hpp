// allow_file: the allow list as a server follows it while it runs: who is taken off must be heard no more, whatever else fails.
// Rule     a file counts as read when its list is in force, not before: one that could not be opened, is half written or may be
//          written by others is looked at again the next time, and problem() says why until it was read
// Empty    a file of no bytes is what a crash or an editor leaves: it is taken at the start alone, when there is no other list.
//          A line that begins with '#' says that nobody is meant
// Errors   as AllowList::load; denied: group or others may write the file, or it belongs to another user
// Threads  single owner
#pragma once

#include <optional>
#include <string>

#include "common/transport/keys.hpp"

namespace wattle::transport {

class AllowFile {
 public:
  explicit AllowFile(std::string path) : path_(std::move(path)) {}
  // The list, when the file is another than the one that was read last.
  Result<std::optional<AllowList>> look();
  // Why the list in force may be older than the file; absent: it is not.
  const std::optional<Error>& problem() const { return problem_; }
  const std::string& path() const { return path_; }

 private:
  Result<std::optional<AllowList>> read();

  std::string path_;
  std::string read_;  // the fingerprint of what is in force; empty: nothing is
  std::optional<Error> problem_;
};

}  // namespace wattle::transport
