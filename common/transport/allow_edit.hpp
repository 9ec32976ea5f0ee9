// allow_edit: edits the allow list file; keeps every other line, comments included.
// Format   "KEY ROLE NAME" allows a key; "# revoked KEY ROLE NAME" records a revocation, so that only an operator can
//          allow the key again
// Errors   not_found and denied (file, folder), malformed (a list that does not parse is not changed)
// Threads  pure except for the file functions, which several processes may use at once under lock_list()
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/dir.hpp"
#include "common/result.hpp"
#include "common/transport/keys.hpp"

namespace wattle::transport {

// Returns whether the text is a key in Z85.
bool is_public_key(const std::string& text);

struct AllowLine {
  std::string key, role, name;
};
std::vector<AllowLine> allow_lines(std::string_view text);
bool is_revoked(std::string_view text, std::string_view key);
// Appends the line, and removes any record that its key was revoked.
std::string with_line(std::string_view text, const AllowLine& line);
// Turns the lines of these keys into revocation comments.
std::string without_keys(std::string_view text, const std::vector<std::string>& keys);

// Locks the folder until the descriptor is closed, against other processes that call this function.
Result<Fd> lock_list(const std::string& path);
// Reads a list and checks that it parses. A missing file is an empty list if `may_be_new`.
Result<std::string> read_list(const std::string& path, bool may_be_new);
// Replaces the file atomically; durable when it returns.
Status write_list(const std::string& path, const std::string& text);
// Removes the keys from `text`, the list at `path`, while the disk is full, by overwriting the file in place. A crash
// may leave it half written, so call it only after write_list() fails with `exhausted`.
Status revoke_in_place(const std::string& path, std::string_view text, const std::vector<std::string>& keys);

}  // namespace wattle::transport
