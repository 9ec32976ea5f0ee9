#include "common/http/url.hpp"

#include <algorithm>
#include <string_view>

#include "common/parse.hpp"

namespace wattle::http {

Result<Url> parse_url(const std::string& url, const std::string& example) {
  Url out;
  std::string_view rest = url;
  if (rest.starts_with("https://")) {
    out.origin.tls.emplace();
    rest.remove_prefix(8);
  } else if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
  } else {
    return fail(Errc::malformed, url, "is not a URL: it starts with neither http:// nor https://", example);
  }
  if (std::any_of(url.begin(), url.end(), [](unsigned char c) { return c <= ' ' || c == 0x7f; }))
    return fail(Errc::malformed, url, "contains a blank or a control character; write a blank in a path as %20",
                example);
  rest = rest.substr(0, rest.find('#'));
  const std::size_t end = std::min(rest.find_first_of("/?"), rest.size());
  out.target = rest.substr(end);
  if (!out.target.starts_with('/')) out.target.insert(0, "/");
  rest = rest.substr(0, end);
  const std::size_t colon = rest.rfind(':');
  const bool bracketed = rest.starts_with('[');
  out.origin.port = out.origin.tls ? 443 : 80;
  if (colon != std::string_view::npos && (!bracketed || rest.find(']') < colon)) {
    const auto port = parse::integer<std::uint16_t>(rest.substr(colon + 1));
    if (!port || *port == 0) return fail(Errc::malformed, url, "has no port from 1 to 65535", example);
    out.origin.port = *port;
    rest = rest.substr(0, colon);
  }
  if (bracketed && rest.ends_with(']')) rest = rest.substr(1, rest.size() - 2);
  if (rest.empty() || rest.find_first_of("@[]") != std::string_view::npos)
    return fail(Errc::malformed, url, "has no valid host name", example);
  out.origin.host = rest;
  // The zone of a link-local address (RFC 6874).
  if (const auto zone = out.origin.host.find("%25"); bracketed && zone != std::string::npos)
    out.origin.host.erase(zone + 1, 2);
  return out;
}

}  // namespace wattle::http
