// url: where a URL leads, and what is asked for there.
// Source   RFC 3986, of it http and https with a host, a port, a path and a query
// Errors   malformed: another scheme, no host, a user name, a port beyond 1..65535, blanks or control characters
// Threads  pure
#pragma once

#include <string>

#include "common/http/origin.hpp"
#include "common/result.hpp"

namespace wattle::http {

struct Url {
  Origin origin;       // https: with a Trust of the system's authorities
  std::string target;  // path and query, "/" where there is none; without the fragment
};

// `example` is the mend of an error: "as in http://10.0.0.7:8080/search?q=1".
Result<Url> parse_url(const std::string& url, const std::string& example);

}  // namespace wattle::http
