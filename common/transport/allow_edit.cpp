#include "common/transport/allow_edit.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "common/overwrite.hpp"
#include "common/parse.hpp"

namespace wattle::transport {
namespace {

constexpr std::string_view kRevoked = "# revoked ";

std::string parent_of(const std::string& path) {
  const auto parent = std::filesystem::path(path).parent_path();
  return parent.empty() ? "." : parent.string();
}

std::vector<std::string_view> words_of(std::string_view line) {
  line = parse::trim(line);
  auto words = parse::fields(line);
  if (words.size() < 3 || line.front() == '#') words.clear();
  return words;
}

// Key of a line that records a revocation; empty for any other line.
std::string_view revoked_key(std::string_view line) {
  if (!line.starts_with(kRevoked)) return {};
  const auto words = parse::fields(line.substr(kRevoked.size()));
  return words.empty() ? std::string_view{} : words[0];
}

}  // namespace

bool is_public_key(const std::string& text) {
  const bool one_word = text.find_first_of(" \t\r\n") == std::string::npos;
  return one_word && AllowList::parse(text + " agent x", "key").value_or(AllowList{}).size() == 1;
}

std::vector<AllowLine> allow_lines(std::string_view text) {
  std::vector<AllowLine> out;
  parse::for_each_line(text, [&](std::string_view line) {
    if (const auto words = words_of(line); !words.empty())
      out.push_back({std::string(words[0]), std::string(words[1]), std::string(words[2])});
  });
  return out;
}

bool is_revoked(std::string_view text, std::string_view key) {
  bool found = false;
  parse::for_each_line(text, [&](std::string_view line) { found = found || revoked_key(line) == key; });
  return found;
}

std::string with_line(std::string_view text, const AllowLine& line) {
  std::string out;
  parse::for_each_line(text, [&](std::string_view other) {
    if (revoked_key(other) != line.key) out.append(other).append("\n");
  });
  return out + line.key + " " + line.role + " " + line.name + "\n";
}

std::string without_keys(std::string_view text, const std::vector<std::string>& keys) {
  std::string out;
  parse::for_each_line(text, [&](std::string_view line) {
    const auto words = words_of(line);
    const bool gone = !words.empty() && std::find(keys.begin(), keys.end(), words[0]) != keys.end();
    out.append(gone ? kRevoked : "").append(gone ? parse::trim(line) : line).append("\n");
  });
  return out;
}

// Locks the folder, because each change replaces the list with another file.
Result<Fd> lock_list(const std::string& path) {
  const std::string parent = parent_of(path);
  Fd fd(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid() || ::flock(fd.get(), LOCK_EX) != 0) return fail_errno(errno, parent, "create the folder first");
  return fd;
}

Result<std::string> read_list(const std::string& path, bool may_be_new) {
  auto text = read_file(path, kMaxKeyFileBytes);
  if (!text && may_be_new && text.error().code == Errc::not_found) return std::string();
  if (!text) return text;
  WATTLE_CHECK(AllowList::parse(*text, path));
  return text;
}

Status write_list(const std::string& path, const std::string& text) {
  WATTLE_CHECK(AllowList::parse(text, path));
  return write_file_atomically(path, text, 0644);
}

Status revoke_in_place(const std::string& path, std::string_view text, const std::vector<std::string>& keys) {
  std::string shorter;  // leaves out role and name of revoked keys, so that the file does not grow
  parse::for_each_line(text, [&](std::string_view line) {
    const auto words = words_of(line);
    const bool gone = !words.empty() && std::find(keys.begin(), keys.end(), words[0]) != keys.end();
    shorter.append(gone ? kRevoked : "").append(gone ? words[0] : line).append("\n");
  });
  WATTLE_CHECK(AllowList::parse(shorter, path));
  return overwrite_in_place(path, shorter);
}

}  // namespace wattle::transport
