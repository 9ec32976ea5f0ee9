// url: parses a URL into the server's address and the request target.
// Source   RFC 3986, restricted to http and https with a host, a port, a path and a query
// Errors   malformed: another scheme, no host, a user name, a port beyond 1..65535, blanks or control characters
// Threads  pure
#pragma once

#include <string>

#include "common/http/origin.hpp"
#include "common/result.hpp"

namespace wattle::http {

struct Url {
  Origin origin;       // https: trusts the system's authorities
  std::string target;  // path and query, at least "/"; without the fragment
};

// Parses a URL. `example` is the fix that an error shows: "as in http://10.0.0.7:8080/search?q=1".
Result<Url> parse_url(const std::string& url, const std::string& example);

}  // namespace wattle::http
