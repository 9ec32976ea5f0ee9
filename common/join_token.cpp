#include "common/join_token.hpp"

#include "common/base64.hpp"
#include "common/digest.hpp"
#include "common/parse.hpp"

namespace wattle {
namespace {

constexpr std::string_view kTokenBegin = "wattle-", kTokenVersion = "1";
constexpr std::size_t kLongestToken = 2048, kTokenFields = 8, kTokenSumDigits = 8, kTokenKeyDigits = 40,
                      kTokenFingerprintDigits = 64;
constexpr const char* kJoinFix = "copy the whole line that `wattle keys token new` printed, or create a new token";

bool consists_of(std::string_view text, std::string_view allowed) {
  return text.find_first_not_of(allowed) == std::string_view::npos;
}

std::string token_sum(std::string_view text) { return sha256_hex(text).substr(0, kTokenSumDigits); }

}  // namespace

bool is_host(std::string_view text) {
  return !text.empty() && text.size() <= 253 && text.front() != '-' &&
         consists_of(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.:-");
}

std::string JoinToken::telemetry_endpoint() const {
  const bool numeric = host.find(':') != std::string::npos;
  return "tcp://" + (numeric ? "[" + host + "]" : host) + ":" + std::to_string(telemetry_port);
}

std::string sealed_join_text(std::string_view words) {
  return std::string(kTokenBegin) + base64_encode(std::string(words) + " " + token_sum(words));
}

std::string to_text(const JoinToken& token) {
  return sealed_join_text(std::string(kTokenVersion) + " " + token.host + " " + std::to_string(token.enrol_port) + " " +
                          std::to_string(token.telemetry_port) + " " + token.server_key + " " + token.fingerprint +
                          " " + token.secret);
}

Result<JoinToken> parse_join_token(std::string_view text) {
  text = parse::trim(text);
  if (!text.starts_with(kTokenBegin) || text.size() > kLongestToken)
    return fail(Errc::malformed, "the token", "is not a token of `wattle keys token new`", kJoinFix);
  const auto plain = base64_decode(text.substr(kTokenBegin.size()));
  const std::size_t end = plain ? plain->rfind(' ') : std::string::npos;
  if (end == std::string::npos || plain->substr(end + 1) != token_sum(std::string_view(*plain).substr(0, end)))
    return fail(Errc::malformed, "the token", "is incomplete or was changed", kJoinFix);
  const auto words = parse::fields(*plain);
  if (words.empty() || words.front() != kTokenVersion)
    return fail(Errc::unsupported, "the token", "was created by another version of Wattle",
                "install the controller's version on this machine");
  JoinToken token;
  const auto port = [](std::string_view word) { return parse::integer<std::uint16_t>(word).value_or(0); };
  if (words.size() == kTokenFields) {
    token = {std::string(words[1]), port(words[2]),        port(words[3]),
             std::string(words[4]), std::string(words[5]), std::string(words[6])};
  }
  if (!is_host(token.host) || token.enrol_port == 0 || token.telemetry_port == 0 ||
      token.server_key.size() != kTokenKeyDigits || token.fingerprint.size() != kTokenFingerprintDigits ||
      !consists_of(token.fingerprint, "0123456789abcdef") || token.secret.empty())
    return fail(Errc::malformed, "the token", "contains invalid fields", kJoinFix);
  return token;
}

}  // namespace wattle
