// allow_file: follows the allow list file while a server runs, so that removing a key always takes effect.
// Rule     a file counts as read only once its list is in force. One that cannot be opened, is half written or is
//          writable by others is tried again the next time; until then problem() has the reason
// Empty    a crash or an editor can leave a file of no bytes: it is accepted only at the start, when there is no other
//          list. To allow no key, write a line that begins with '#'
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
  // Returns the list if the file differs from the one in force.
  Result<std::optional<AllowList>> look();
  // Reason why the list in force may be older than the file; unset if it is not.
  const std::optional<Error>& problem() const { return problem_; }
  const std::string& path() const { return path_; }

 private:
  Result<std::optional<AllowList>> read();

  std::string path_;
  std::string read_;  // fingerprint of the file in force; empty: none
  std::optional<Error> problem_;
};

}  // namespace wattle::transport
