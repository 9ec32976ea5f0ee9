// archive: writes and reads a tar file of named files, with a list of their digests first and the digest of that list
// last. `tar tf` lists it.
// Format   POSIX.1-1988 "ustar", plain files only; members manifest.json, the files in its order, manifest.sha256
// Does not use libarchive: it reads 38% of the archives with one changed byte as if they were intact, needs 40 MB of
// libraries in an image (libicu), and would parse the extended formats of tar as root.
// Rules    names are relative, with at most 100 letters, digits, ".", "_", "-" and "/", and without parts that are
//          empty, "." or ".."; no two members have the same name, and none has the name of another's folder. A changed
//          byte anywhere is refused
// Errors   name the archive: malformed (damaged, truncated, not an archive), unsupported (of a newer version), those of
//          the disk
// Threads  single owner; parse_member() is pure
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
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
// malformed if two members have the same path, or one is a folder of another.
Status check_members(const std::vector<Member>& files, const std::string& archive);
std::string member_header(const Member& member, std::int64_t made_s);
// Parses the header of a member; no value at the end.
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
  File file;  // kept open, so that replacing the path has no effect
};
// Fails if the path exists; call before longer work.
Status refuse_taken(const std::string& path);
// Writes a new file of mode 0600, which gets its name when it is complete and on disk.
Result<Manifest> write_archive(const std::string& path, const std::string& version, std::int64_t made_s,
                               const std::vector<Source>& sources);

// Reads and checks the whole archive. Calls `piece` with an empty piece at the start of each file, then with the file's
// pieces.
using Piece = std::function<Status(const Member& member, std::string_view bytes)>;
Result<Manifest> read_archive(const std::string& path, const Piece& piece);

}  // namespace wattle::cli
