#include "common/http/target.hpp"

#include <optional>

namespace wattle::http {
namespace {

std::optional<unsigned> hex_digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a') + 10;
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A') + 10;
  return std::nullopt;
}

std::optional<std::string> decode(std::string_view text, bool plus_is_space) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\0') return std::nullopt;
    if (text[i] == '+' && plus_is_space) {
      out += ' ';
    } else if (text[i] == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      const auto high = hex_digit(text[i + 1]);
      const auto low = hex_digit(text[i + 2]);
      if (!high || !low || (*high == 0 && *low == 0)) return std::nullopt;
      out += static_cast<char>(*high * 16 + *low);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace

Result<Target> parse_target(std::string_view text) {
  if (!text.starts_with('/'))
    return fail(Errc::malformed, "request target", "does not start with '/'", "request a path, for example GET /livez");
  text = text.substr(0, text.find('#'));
  const auto mark = text.find('?');
  Target target;
  const auto path = decode(text.substr(0, mark), false);
  if (!path) return fail(Errc::malformed, "request target", "contains an invalid %-escape in its path");
  target.path = *path;
  if (mark == std::string_view::npos) return target;

  std::string_view rest = text.substr(mark + 1);
  while (!rest.empty()) {
    const auto end = rest.find('&');
    const auto pair = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    if (pair.empty()) continue;
    const auto equals = pair.find('=');
    const auto key = decode(pair.substr(0, equals), true);
    const auto value =
        equals == std::string_view::npos ? std::optional<std::string>("") : decode(pair.substr(equals + 1), true);
    if (!key || !value) return fail(Errc::malformed, "request target", "contains an invalid %-escape in its query");
    if (!target.query.insert_or_assign(*key, *value).second) target.repeated = *key;
  }
  return target;
}

std::string percent_encode(std::string_view text) {
  static constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                       c == '.' || c == '_' || c == '~';
    if (plain) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += kHex[byte >> 4];
    out += kHex[byte & 15];
  }
  return out;
}

}  // namespace wattle::http
