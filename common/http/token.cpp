#include "common/http/token.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cerrno>

#include "common/dir.hpp"
#include "common/parse.hpp"

namespace wattle::http {

namespace {
constexpr std::size_t kMinCharacters = 16, kMaxCharacters = 4096;
}  // namespace

Result<std::string> load_token(const std::string& path) {
  auto file = open_file(path);
  if (!file) {
    file.error().mend = "write a long random word into a file, mode 0400, and name that";
    return forward_error(file);
  }
  struct stat info {};
  if (::fstat(file->fd(), &info) != 0) return fail_errno(errno, path);
  if ((info.st_mode & 077U) != 0)
    return fail(Errc::denied, path, "its mode lets group or others at a secret", "chmod 0400 " + path);
  WATTLE_TRY(const std::string text, file->read_all(kMaxCharacters + 2));
  std::string secret(parse::trim(text));
  while (!secret.empty() && (secret.back() == '\n' || secret.back() == '\r')) secret.pop_back();
  const bool plain = std::all_of(secret.begin(), secret.end(), [](char c) { return c > ' ' && c < 0x7f; });
  if (!plain || secret.size() < kMinCharacters || secret.size() > kMaxCharacters)
    return fail(Errc::malformed, path, "is not one word of 16 to 4096 printable characters",
                "make one with: head -c 32 /dev/urandom | base64 -w0");
  return secret;
}

Result<Token> Token::load(const std::string& path) {
  WATTLE_TRY(std::string secret, load_token(path));
  return Token(std::move(secret));
}

bool Token::admits(std::string_view authorization) const {
  static constexpr std::string_view kScheme = "bearer ";
  if (authorization.size() <= kScheme.size()) return false;
  for (std::size_t i = 0; i < kScheme.size(); ++i)
    if (std::tolower(static_cast<unsigned char>(authorization[i])) != kScheme[i]) return false;
  const std::string_view shown = authorization.substr(kScheme.size());
  // No early end: the time tells nothing of how many characters were right.
  unsigned different = shown.size() == secret_.size() ? 0 : 1;
  for (std::size_t i = 0; i < secret_.size(); ++i)
    different |= static_cast<unsigned>(static_cast<unsigned char>(secret_[i]) ^
                                       static_cast<unsigned char>(shown[i % shown.size()]));
  return different == 0;
}

}  // namespace wattle::http
