#include "common/http/token.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>

#include "common/digest.hpp"
#include "common/dir.hpp"
#include "common/parse.hpp"
#include "common/trusted_file.hpp"

namespace wattle::http {

namespace {
constexpr std::size_t kMinCharacters = 16, kMaxCharacters = 4096;
}  // namespace

Result<std::string> load_token(const std::string& path) {
  auto file = open_file(path);
  if (!file) {
    file.error().fix = "write a long random word to a file with mode 0400 and set the path of that file";
    return forward_error(file);
  }
  struct stat info {};
  if (::fstat(file->fd(), &info) != 0) return fail_errno(errno, path);
  WATTLE_CHECK(check_secret(path, info));
  WATTLE_TRY(const std::string text, file->read_all(kMaxCharacters + 2));
  std::string secret(parse::trim(text));
  while (!secret.empty() && (secret.back() == '\n' || secret.back() == '\r')) secret.pop_back();
  const bool plain = std::all_of(secret.begin(), secret.end(), [](char c) { return c > ' ' && c < 0x7f; });
  if (!plain || secret.size() < kMinCharacters || secret.size() > kMaxCharacters)
    return fail(Errc::malformed, path, "is not one word of 16 to 4096 printable characters",
                "create one with: head -c 32 /dev/urandom | base64 -w0");
  return secret;
}

Result<Token> Token::load(const std::string& path) {
  WATTLE_TRY(std::string secret, load_token(path));
  return Token(std::move(secret));
}

namespace {

std::string seal(const std::string& secret, const std::string& end) {
  const std::string text = "wattle page until " + end;
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  unsigned length = 0;
  HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), bytes.data(), &length);
  static constexpr std::string_view kHex = "0123456789abcdef";
  std::string out;
  for (unsigned i = 0; i < length; ++i) {
    out += kHex[bytes[i] >> 4U];
    out += kHex[bytes[i] & 15U];
  }
  return out;
}

}  // namespace

bool Token::is(std::string_view word) const { return same_secret(word, secret_); }

bool Token::admits(std::string_view authorization) const {
  static constexpr std::string_view kScheme = "bearer ";
  if (authorization.size() <= kScheme.size()) return false;
  for (std::size_t i = 0; i < kScheme.size(); ++i)
    if (std::tolower(static_cast<unsigned char>(authorization[i])) != kScheme[i]) return false;
  return is(authorization.substr(kScheme.size()));
}

std::string Token::pass(WallTime end) const {
  const std::string end_s = std::to_string(to_ns(end) / 1'000'000'000);
  return end_s + "-" + seal(secret_, end_s);
}

bool Token::admits_pass(std::string_view cookies, WallTime now) const {
  while (!cookies.empty()) {
    const auto next = cookies.find(';');
    const std::string_view cookie = parse::trim(cookies.substr(0, next));
    cookies.remove_prefix(next == std::string_view::npos ? cookies.size() : next + 1);
    const auto equals = cookie.find('=');
    if (equals == std::string_view::npos || cookie.substr(0, equals) != kPassCookie) continue;
    const std::string_view pass = cookie.substr(equals + 1);
    const auto dash = pass.find('-');
    if (dash == std::string_view::npos) continue;
    const std::string end(pass.substr(0, dash));
    const auto end_s = parse::u64(end);
    if (end_s && *end_s > static_cast<std::uint64_t>(to_ns(now)) / 1'000'000'000U &&
        same_secret(pass.substr(dash + 1), seal(secret_, end)))
      return true;
  }
  return false;
}

}  // namespace wattle::http
