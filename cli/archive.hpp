// archive: one tar file of named files, with a list of their digests first and that list's digest last. `tar tf` lists it.
// Format   POSIX.1-1988 "ustar", plain files alone; members manifest.json, the files in its order, manifest.sha256
// Rules    names are relative, at most 100 of letters, digits, ".", "_", "-", "/", without ".." and without parts
//          that are empty or "."; no two members have one name, and none has the name of another's folder
//          a changed byte anywhere is refused
// Errors   name the archive: malformed (damaged, cut off, no archive), unsupported (of a newer version), those of the disk
// Threads  single owner; parse_member() is pure
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/dir.hpp"
#include "common/result.hpp"

namespace wattle::cli {

inline constexpr std::size_t kTarBlock = 512;
inline constexpr int kArchiveFormat = 1;

struct Member {
  std::string name;
  std::uint64_t bytes = 0;
  std::string sha256 = {};
};
bool is_member_name(std::string_view name);
// malformed: two members would be one file, or a file and a folder.
Status check_members(const std::vector<Member>& files, const std::string& archive);
std::string member_header(const Member& member, std::int64_t made_s);
// The head of a member; nothing: the end.
Result<std::optional<Member>> parse_member(std::string_view block, const std::string& archive);

struct Manifest {
  std::string version;  // of Wattle
  std::int64_t made_s = 0;
  std::vector<Member> files;
};
std::string to_text(const Manifest& manifest);
Result<Manifest> parse_manifest(std::string_view text, const std::string& archive);

struct Source {
  std::string name;
  File file;  // held open: what is renamed over it meanwhile does not count
};
// Something has that name already: for who wants to know before there is much work done.
Status refuse_taken(const std::string& path);
// Writes a file of mode 0600 that is not there yet; it has its name once it is whole and on disk.
Result<Manifest> write_archive(const std::string& path, const std::string& version, std::int64_t made_s,
                               const std::vector<Source>& sources);

// Reads and checks the whole archive; `piece` is told an empty one at the begin of each file, then those of the file.
using Piece = std::function<Status(const Member& member, std::string_view bytes)>;
Result<Manifest> read_archive(const std::string& path, const Piece& piece);

}  // namespace wattle::cli
