#include "cli/archive.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <set>

#include "common/digest.hpp"
#include "common/json/value.hpp"
#include "common/parse.hpp"

namespace wattle::cli {

namespace {

using json = SortedJson;
constexpr std::size_t kPieceBytes = 1 << 18, kMostManifest = 1 << 20, kLongestName = 100, kSumAt = 148, kSumSize = 8;
constexpr std::uint64_t kMostMemberBytes = std::uint64_t{1} << 40U;
constexpr std::string_view kManifestName = "manifest.json", kSumName = "manifest.sha256", kMagic{"ustar\00000", 8};
constexpr const char* kArchiveFix = "use another copy: this file has changed since `wattle backup` wrote it";

tl::unexpected<Error> damaged(const std::string& archive, const std::string& what) {
  return fail(Errc::malformed, archive, what, kArchiveFix);
}

void put_octal(std::string& block, std::size_t at, int digits, std::uint64_t value) {
  for (int i = digits; i-- > 0; value /= 8)
    block[at + static_cast<std::size_t>(i)] = static_cast<char>('0' + static_cast<char>(value % 8));
}

std::optional<std::uint64_t> octal_at(std::string_view block, std::size_t at, std::size_t digits) {
  std::uint64_t value = 0;
  for (const char c : block.substr(at, digits)) {
    if (c < '0' || c > '7') return std::nullopt;
    value = value * 8 + static_cast<std::uint64_t>(c - '0');
  }
  return value;
}

std::uint64_t sum_of(std::string_view block) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kTarBlock; ++i)
    sum +=
        i >= kSumAt && i < kSumAt + kSumSize ? static_cast<unsigned char>(' ') : static_cast<unsigned char>(block[i]);
  return sum;
}

std::size_t padding_of(std::uint64_t bytes) { return (kTarBlock - bytes % kTarBlock) % kTarBlock; }

bool is_zero(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char c) { return c == 0; });
}

Status write_all(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(fd, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return fail_errno(errno, path);
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return {};
}

// Reads the file from the start in pieces.
Status each_piece(const File& file, const std::function<Status(std::string_view)>& consume) {
  std::string buffer(kPieceBytes, '\0');
  for (off_t at = 0;;) {
    const ssize_t got = ::pread(file.fd(), buffer.data(), buffer.size(), at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno(errno, file.path());
    if (got == 0) return {};
    WATTLE_CHECK(consume(std::string_view(buffer).substr(0, static_cast<std::size_t>(got))));
    at += got;
  }
}

Status write_member(int fd, const std::string& path, const Member& member, std::int64_t made_s,
                    std::string_view content) {
  WATTLE_CHECK(write_all(fd, member_header(member, made_s), path));
  WATTLE_CHECK(write_all(fd, content, path));
  return write_all(fd, std::string(padding_of(member.bytes), '\0'), path);
}

Status write_members(int fd, const std::string& path, const Manifest& manifest, const std::vector<Source>& sources) {
  const std::string list = to_text(manifest);
  WATTLE_CHECK(write_member(fd, path, {std::string(kManifestName), list.size()}, manifest.made_s, list));
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const Member& member = manifest.files[i];
    WATTLE_CHECK(write_all(fd, member_header(member, manifest.made_s), path));
    std::uint64_t bytes = 0;
    Sha256 digest;
    WATTLE_CHECK(each_piece(sources[i].file, [&](std::string_view piece) {
      bytes += piece.size();
      digest.add(piece);
      return write_all(fd, piece, path);
    }));
    if (bytes != member.bytes || digest.hex() != member.sha256)
      return fail(Errc::conflict, sources[i].file.path(), "the file changed while it was copied",
                  "run the command again");
    WATTLE_CHECK(write_all(fd, std::string(padding_of(bytes), '\0'), path));
  }
  const std::string sum = sha256_hex(list);
  WATTLE_CHECK(write_member(fd, path, {std::string(kSumName), sum.size()}, manifest.made_s, sum));
  WATTLE_CHECK(write_all(fd, std::string(2 * kTarBlock, '\0'), path));
  if (::fsync(fd) != 0) return fail_errno(errno, path);
  return {};
}

// Reads one archive from start to end.
class Reading {
 public:
  Reading(Fd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  Result<std::optional<Member>> head() {
    WATTLE_TRY(const std::string_view block, take(kTarBlock));
    return parse_member(block, path_);
  }
  Status content(std::uint64_t bytes, const std::function<Status(std::string_view)>& consume) {
    const std::size_t padding = padding_of(bytes);
    while (bytes > 0) {
      WATTLE_TRY(const std::string_view piece,
                 take(static_cast<std::size_t>(std::min<std::uint64_t>(bytes, kPieceBytes))));
      WATTLE_CHECK(consume(piece));
      bytes -= piece.size();
    }
    WATTLE_TRY(const std::string_view rest, take(padding));
    if (!is_zero(rest)) return damaged(path_, "contains data between two files");
    return {};
  }
  Result<std::string> text(const Member& member) {
    if (member.bytes > kMostManifest) return damaged(path_, "contains a file list of impossible size");
    std::string text;
    WATTLE_CHECK(content(member.bytes, [&](std::string_view piece) {
      text += piece;
      return Status();
    }));
    return text;
  }
  // Call after the first of the two empty blocks.
  Status end() {
    WATTLE_TRY(const std::string_view last, take(kTarBlock));
    char more = 0;
    if (!is_zero(last) || ::read(fd_.get(), &more, 1) != 0) return damaged(path_, "contains data after its end");
    return {};
  }

 private:
  Result<std::string_view> take(std::size_t bytes) {
    std::size_t got = 0;
    while (got < bytes) {
      const ssize_t now = ::read(fd_.get(), buffer_.data() + got, bytes - got);
      if (now < 0 && errno == EINTR) continue;
      if (now < 0) return fail_errno(errno, path_);
      if (now == 0) return damaged(path_, "is truncated");
      got += static_cast<std::size_t>(now);
    }
    return std::string_view(buffer_.data(), bytes);
  }

  Fd fd_;
  std::string path_;
  std::array<char, kPieceBytes> buffer_{};
};

}  // namespace

bool is_member_name(std::string_view name) {
  const std::vector<std::string_view> parts = parse::split(name, '/');
  return name.size() < kLongestName && name.find("..") == name.npos &&
         std::ranges::none_of(parts, [](std::string_view part) { return part.empty() || part == "."; }) &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/") == name.npos;
}

Status check_members(const std::vector<Member>& files, const std::string& archive) {
  std::set<std::string_view> names{kManifestName, kSumName}, folders;
  for (const Member& one : files) {
    if (!names.insert(one.name).second) return damaged(archive, "contains two files named " + one.name);
    for (auto at = one.name.find('/'); at != std::string::npos; at = one.name.find('/', at + 1))
      folders.insert(std::string_view(one.name).substr(0, at));
  }
  for (const std::string_view folder : folders)
    if (names.contains(folder)) return damaged(archive, "has " + std::string(folder) + " as a file and as a folder");
  return {};
}

std::string member_header(const Member& member, std::int64_t made_s) {
  std::string block(kTarBlock, '\0');
  member.name.copy(block.data(), kLongestName);
  put_octal(block, 100, 7, 0600);
  put_octal(block, 108, 7, 0);
  put_octal(block, 116, 7, 0);
  put_octal(block, 124, 11, member.bytes);
  put_octal(block, 136, 11, static_cast<std::uint64_t>(made_s));
  block[156] = '0';
  kMagic.copy(block.data() + 257, kMagic.size());
  put_octal(block, kSumAt, 6, sum_of(block));
  block[kSumAt + 7] = ' ';
  return block;
}

Result<std::optional<Member>> parse_member(std::string_view block, const std::string& archive) {
  if (block.size() != kTarBlock) return damaged(archive, "is truncated");
  if (is_zero(block)) return std::optional<Member>();
  Member member;
  member.name = std::string(block.substr(0, std::min(block.find('\0'), kLongestName)));
  const auto bytes = octal_at(block, 124, 11), made_s = octal_at(block, 136, 11);
  if (!bytes || !made_s || *bytes > kMostMemberBytes || !is_member_name(member.name))
    return damaged(archive, "is not an archive made by `wattle backup`");
  member.bytes = *bytes;
  // The header must match ours byte for byte: the sum would miss two changes that cancel out.
  if (block != member_header(member, static_cast<std::int64_t>(*made_s))) return damaged(archive, "is damaged");
  return std::optional<Member>(std::move(member));
}

std::string to_text(const Manifest& manifest) {
  json files = json::array();
  for (const Member& one : manifest.files)
    files.push_back({{"name", one.name}, {"bytes", one.bytes}, {"sha256", one.sha256}});
  return json{{"format", kArchiveFormat}, {"wattle", manifest.version}, {"made_s", manifest.made_s}, {"files", files}}
             .dump(1) +
         "\n";
}

Result<Manifest> parse_manifest(std::string_view text, const std::string& archive) {
  const json list = json::read(text, {.text_bytes = 1 << 20, .built_bytes = 16 << 20});
  const auto number = [](const json& in, const char* key) -> std::optional<std::uint64_t> {
    return in.is_object() && in.contains(key) && in[key].is_number_unsigned()
               ? std::optional<std::uint64_t>(in[key].get<std::uint64_t>())
               : std::nullopt;
  };
  const auto word = [](const json& in, const char* key) {
    return in.is_object() && in.contains(key) && in[key].is_string() ? in[key].get<std::string>() : std::string();
  };
  const auto format = number(list, "format");
  if (!format) return damaged(archive, "contains no list of its files");
  Manifest out;
  out.version = word(list, "wattle");
  if (*format > kArchiveFormat)
    return fail(Errc::unsupported, archive,
                "was written by Wattle " + out.version + ", in a format that this version cannot read",
                "restore the backup with that version");
  const auto made_s = number(list, "made_s");
  if (!made_s || !list.contains("files") || !list["files"].is_array())
    return damaged(archive, "contains no list of its files");
  out.made_s = static_cast<std::int64_t>(*made_s);
  for (const json& one : list["files"]) {
    const auto bytes = number(one, "bytes");
    Member member{word(one, "name"), bytes.value_or(0), word(one, "sha256")};
    if (!bytes || !is_member_name(member.name) || member.sha256.size() != 64)
      return damaged(archive, "contains an empty list of files");
    out.files.push_back(std::move(member));
  }
  WATTLE_CHECK(check_members(out.files, archive));
  return out;
}

Status refuse_taken(const std::string& path) {
  struct stat there {};
  if (::lstat(path.c_str(), &there) == 0)
    return fail(Errc::conflict, path, "already exists", "choose another file name");
  return {};
}

Result<Manifest> write_archive(const std::string& path, const std::string& version, std::int64_t made_s,
                               const std::vector<Source>& sources) {
  WATTLE_CHECK(refuse_taken(path));
  Manifest manifest{version, made_s, {}};
  for (const Source& source : sources) {
    Member member{source.name, 0, {}};
    Sha256 digest;
    WATTLE_CHECK(each_piece(source.file, [&](std::string_view piece) {
      member.bytes += piece.size();
      digest.add(piece);
      return Status();
    }));
    member.sha256 = digest.hex();
    manifest.files.push_back(std::move(member));
  }
  WATTLE_CHECK(check_members(manifest.files, path));
  const std::string part = path + ".part";
  ::unlink(part.c_str());  // left by an interrupted run
  const Fd fd(::open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd.valid()) return fail_errno(errno, part);
  Status done = write_members(fd.get(), part, manifest, sources);
  if (done && std::rename(part.c_str(), path.c_str()) != 0) done = fail_errno(errno, path);
  if (!done) {
    ::unlink(part.c_str());
    return tl::unexpected<Error>(done.error());
  }
  return manifest;
}

Result<Manifest> read_archive(const std::string& path, const Piece& piece) {
  WATTLE_CHECK(check_regular(path));
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return fail_errno(errno, path);
  Reading reading(std::move(fd), path);
  WATTLE_TRY(const auto first, reading.head());
  if (!first || first->name != kManifestName) return damaged(path, "is not an archive made by `wattle backup`");
  WATTLE_TRY(const std::string list, reading.text(*first));
  WATTLE_TRY(Manifest manifest, parse_manifest(list, path));
  for (const Member& expected : manifest.files) {
    WATTLE_TRY(const auto head, reading.head());
    if (!head || head->name != expected.name || head->bytes != expected.bytes)
      return damaged(path, "contains files that differ from its list");
    Sha256 digest;
    WATTLE_CHECK(piece(expected, {}));
    WATTLE_CHECK(reading.content(expected.bytes, [&](std::string_view bytes) {
      digest.add(bytes);
      return piece(expected, bytes);
    }));
    if (digest.hex() != expected.sha256) return damaged(path, expected.name + " in the archive is damaged");
  }
  WATTLE_TRY(const auto last, reading.head());
  if (!last || last->name != kSumName) return damaged(path, "contains files that differ from its list");
  WATTLE_TRY(const std::string sum, reading.text(*last));
  if (sum != sha256_hex(list)) return damaged(path, "contains a damaged list of its files");
  WATTLE_TRY(const auto none, reading.head());
  if (none) return damaged(path, "contains data after its end");
  WATTLE_CHECK(reading.end());
  return manifest;
}

}  // namespace wattle::cli
