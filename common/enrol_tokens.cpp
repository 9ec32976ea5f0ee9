#include "common/enrol_tokens.hpp"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "common/digest.hpp"
#include "common/dir.hpp"
#include "common/parse.hpp"

namespace wattle {
namespace {

constexpr std::size_t kMaxFileBytes = 16 << 20;
constexpr std::size_t kHashDigits = 64;
constexpr std::string_view kDigits = "0123456789abcdef";

std::string line_of(const EnrolToken& token) {
  std::string line = token.hash + " " + token.node + " " + std::to_string(token.expires_s);
  if (token.replace) line += " replace";
  if (!token.used_by.empty()) line += " used " + token.used_by + " " + std::to_string(token.used_s);
  return line;
}

std::vector<std::string_view> words_of(std::string_view line) {
  line = parse::trim(line);
  if (line.empty() || line.front() == '#') return {};
  return parse::fields(line);
}

bool read_line(const std::vector<std::string_view>& words, EnrolToken& token) {
  const auto is_digit = [](char c) { return kDigits.find(c) != std::string_view::npos; };
  if (words.size() < 3 || words[0].size() != kHashDigits || !std::all_of(words[0].begin(), words[0].end(), is_digit))
    return false;
  const auto expires = parse::integer<std::int64_t>(words[2]);
  if (!expires) return false;
  token = {std::string(words[0]), std::string(words[1]), *expires};
  std::size_t at = 3;
  if (at < words.size() && words[at] == "replace") {
    token.replace = true;
    ++at;
  }
  if (at == words.size() || words[at].front() == '#') return true;
  if (words[at] != "used" || at + 3 > words.size()) return false;
  const auto used = parse::integer<std::int64_t>(words[at + 2]);
  if (!used) return false;
  token.used_by = words[at + 1];
  token.used_s = *used;
  return true;
}

// Calls each(line, is_token) for every line of the text.
template <class Each>
void others(std::string_view text, std::string_view hash, const Each& each) {
  parse::for_each_line(text, [&](std::string_view line) {
    const auto words = words_of(line);
    each(line, !words.empty() && words[0] == hash);
  });
}

}  // namespace

Result<std::string> make_enrol_token() {
  std::array<unsigned char, 32> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    return fail_errno(errno, "random numbers");
  std::string token = "wattle-enrol-";
  for (const unsigned char byte : bytes) {
    token += kDigits[byte >> 4U];
    token += kDigits[byte & 15U];
  }
  return token;
}

std::string enrol_hash(std::string_view token) { return sha256_hex(token); }

Result<std::vector<EnrolToken>> parse_enrol_tokens(std::string_view text, const std::string& name) {
  std::vector<EnrolToken> tokens;
  int number = 0, wrong = 0;
  parse::for_each_line(text, [&](std::string_view line) {
    ++number;
    const auto words = words_of(line);
    EnrolToken token;
    if (words.empty()) return;
    if (read_line(words, token)) {
      tokens.push_back(std::move(token));
    } else if (wrong == 0) {
      wrong = number;
    }
  });
  if (wrong != 0)
    return fail(Errc::malformed, name + ":" + std::to_string(wrong), "is not a valid enrolment token",
                "create tokens with `wattle keys token new`");
  return tokens;
}

Result<std::string> read_enrol_file(const std::string& path) {
  auto text = read_file(path, kMaxFileBytes);
  if (!text && text.error().code == Errc::not_found) return std::string();
  return text;
}

std::string with_enrol_token(std::string_view text, const EnrolToken& token) {
  std::string out;
  bool there = false;
  others(text, token.hash, [&](std::string_view line, bool mine) {
    out.append(mine ? line_of(token) : std::string(line)).append("\n");
    there = there || mine;
  });
  if (!there) out += line_of(token) + "\n";
  return out;
}

std::string without_enrol_token(std::string_view text, std::string_view hash) {
  std::string out;
  others(text, hash, [&](std::string_view line, bool mine) {
    if (!mine) out.append(line).append("\n");
  });
  return out;
}

}  // namespace wattle
