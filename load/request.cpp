#include <algorithm>
#include <array>
#include <cctype>

#include "common/parse.hpp"
#include "common/version.hpp"
#include "load/users.hpp"

namespace wattle::load {

namespace {

constexpr std::array<std::string_view, 5> kOurHeaders{"host", "content-length", "connection", "transfer-encoding",
                                                      "user-agent"};

// RFC 9110, 5.6.2.
bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("!#$%&'*+-.^_`|~").find(static_cast<char>(c)) != std::string_view::npos;
  });
}

Status check_header(const std::string& header) {
  const std::size_t colon = header.find(':');
  if (colon == std::string::npos || !is_token(std::string_view(header).substr(0, colon)) ||
      std::any_of(header.begin(), header.end(), [](unsigned char c) { return (c < ' ' && c != '\t') || c == 0x7f; }))
    return fail(Errc::malformed, "header '" + header + "'", "is not a header", "use 'Name: value'");
  std::string name = header.substr(0, colon);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (std::find(kOurHeaders.begin(), kOurHeaders.end(), name) != kOurHeaders.end())
    return fail(Errc::malformed, "header '" + header + "'", "is set by wattle-load itself", "omit it");
  return {};
}

}  // namespace

Result<std::string> request_bytes(const http::Origin& origin, const std::string& method, const std::string& target,
                                  const std::vector<std::string>& headers, const std::string& body) {
  if (!is_token(method))
    return fail(Errc::malformed, "method '" + method + "'", "is not an HTTP method", "for example GET or POST");
  const bool v6 = origin.host.find(':') != std::string::npos;
  std::string out = method + " " + target + " HTTP/1.1\r\nHost: " + (v6 ? "[" : "") + origin.host + (v6 ? "]" : "") +
                    ":" + std::to_string(origin.port) + "\r\n";
  for (const std::string& header : headers) {
    WATTLE_CHECK(check_header(header));
    out += header + "\r\n";
  }
  out += "User-Agent: wattle-load/" + std::string(kVersion) + "\r\n";
  if (!body.empty() || method == "POST" || method == "PUT" || method == "PATCH")
    out += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  return out + "\r\n" + body;
}

}  // namespace wattle::load
