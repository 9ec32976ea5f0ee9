// jwt: a JSON Web Token with these claims and no valid signature.
#pragma once

#include <algorithm>
#include <string>

#include "common/base64.hpp"

namespace wattle::test {

inline std::string base64url(const std::string& bytes) {
  std::string text = base64_encode(bytes);
  std::replace(text.begin(), text.end(), '+', '-');
  std::replace(text.begin(), text.end(), '/', '_');
  return text.substr(0, text.find('='));
}

inline std::string jwt(const std::string& claims) {
  return base64url(R"({"alg":"RS256"})") + "." + base64url(claims) + ".c2ln";
}

}  // namespace wattle::test
