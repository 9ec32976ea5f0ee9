// allow_edit: changes to the allow list as a file: every line that a change is not about stays as it is, comments too.
// Format   "KEY ROLE NAME" allows; "# revoked KEY ROLE NAME" remembers that the key was taken off, so that nobody but an
//          operator allows it again
// Errors   not_found and denied (file, folder), malformed (a list that does not parse is left alone)
// Threads  pure but for the file's functions, which several processes may use at once under lock_list()
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/dir.hpp"
#include "common/result.hpp"
#include "common/transport/keys.hpp"

namespace wattle::transport {

// Whether it is Z85 text of a key.
bool is_public_key(const std::string& text);

struct AllowLine {
  std::string key, role, name;
};
std::vector<AllowLine> allow_lines(std::string_view text);
bool is_revoked(std::string_view text, std::string_view key);
// The text with that line behind the others. That the key was revoked is forgotten.
std::string with_line(std::string_view text, const AllowLine& line);
// The text with the lines of these keys turned into remarks.
std::string without_keys(std::string_view text, const std::vector<std::string>& keys);

// Until the descriptor is closed no other process that asks for it changes a list in that folder.
Result<Fd> lock_list(const std::string& path);
// The text of a list that parses. A file that is not there is an empty list if it may be made.
Result<std::string> read_list(const std::string& path, bool may_be_new);
// Durable when it returns, and never half written.
Status write_list(const std::string& path, const std::string& text);
// Takes the keys off `text`, the list at `path`, though the disk is full: the list is overwritten where it is, without a new file. A crash
// meanwhile may leave it half written, so use it only where write_list() is `exhausted`.
Status revoke_in_place(const std::string& path, std::string_view text, const std::vector<std::string>& keys);

}  // namespace wattle::transport
