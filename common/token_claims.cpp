#include "common/token_claims.hpp"

#include "common/base64.hpp"
#include "common/json/value.hpp"

namespace wattle {
namespace {

using json = SortedJson;
constexpr JsonLimits kLimits{.text_bytes = 16 << 10, .built_bytes = 1 << 20, .depth = 16};
constexpr double kFarthest_s = 1e12;  // keeps sums of times in range

}  // namespace

std::optional<TokenClaims> unverified_claims(std::string_view token) {
  const auto first = token.find('.');
  const auto second = first == token.npos ? first : token.find('.', first + 1);
  if (second == token.npos || token.find('.', second + 1) != token.npos) return std::nullopt;
  const auto text = base64url_decode(token.substr(first + 1, second - first - 1));
  if (!text) return std::nullopt;
  const json claims = json::read(*text, kLimits);
  const json& subject = claims["sub"];
  const json& audience = claims["aud"];
  const json& expires = claims["exp"];
  if (!subject.is_string() || !expires.is_number_integer()) return std::nullopt;
  const double expires_s = expires.get<double>();
  if (!(expires_s > 0 && expires_s < kFarthest_s)) return std::nullopt;
  TokenClaims out{subject.string(), {}, static_cast<std::int64_t>(expires_s)};
  if (audience.is_string()) out.audiences.push_back(audience.string());
  if (audience.is_array())
    for (const json& one : audience)
      if (one.is_string()) out.audiences.push_back(one.string());
  return out;
}

}  // namespace wattle
