// page_answers: helpers shared by the page's handlers.
// Threads  pure functions
#pragma once

#include <string>
#include <string_view>

#include "common/http/server.hpp"
#include "common/json/value.hpp"
#include "common/parse.hpp"

namespace wattle::controller {

// A form of another site cannot set this header, and a script of another site may not.
inline constexpr const char* kOwnHeader = "x-wattle";

inline http::Response page_reported(int status, const SortedJson& object) {
  return {status, "application/json", object.dump(), {{"Cache-Control", "no-store"}}, nullptr, {}};
}

inline http::Response page_refused(int status, http::Refused why, const std::string& error) {
  http::Response response = page_reported(status, {{"error", error}});
  response.refused = why;
  return response;
}

inline std::string page_header(const http::Request& request, const char* name) {
  const auto found = request.headers.find(name);
  return found == request.headers.end() ? std::string() : found->second;
}

inline bool is_json(const std::string& content_type) {
  return parse::trim(std::string_view(content_type).substr(0, content_type.find(';'))) == "application/json";
}

}  // namespace wattle::controller
