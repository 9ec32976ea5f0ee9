#include "controller/web/page.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "common/json/value.hpp"
#include "controller/known_fields.hpp"
#include "controller/web/assets.hpp"
#include "controller/web/known_arguments.hpp"
#include "controller/web/page_answers.hpp"

namespace wattle::controller {
namespace {

using json = SortedJson;
constexpr std::chrono::hours kPassLasts{30 * 24};
// Permits no foreign content, no inline script or style, no text that becomes markup, and no embedding in frames.
constexpr const char* kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

http::Response file(const Asset& asset, const http::Request& request) {
  http::Response response{200, std::string(asset.type), {}};
  response.headers = {{"Content-Security-Policy", kPolicy},
                      {"X-Content-Type-Options", "nosniff"},
                      {"Referrer-Policy", "no-referrer"},
                      {"Cross-Origin-Opener-Policy", "same-origin"},
                      {"Cross-Origin-Resource-Policy", "same-origin"},
                      {"Cache-Control", "no-cache"},
                      {"Vary", "Accept-Encoding"},
                      {"ETag", std::string(asset.etag)}};
  if (page_header(request, "if-none-match") == asset.etag) {
    response.status = 304;
    return response;
  }
  if (page_header(request, "accept-encoding").find("gzip") == std::string::npos)
    return {406, "text/plain; charset=utf-8",
            "this page is only available compressed: send Accept-Encoding: gzip (curl --compressed). Data is at "
            "/api/v1/status\n"};
  response.headers.emplace_back("Content-Encoding", "gzip");
  response.body = asset.bytes;
  return response;
}

std::string cookie(const std::string& value, std::chrono::seconds lasts, bool secure) {
  return std::string(http::kPassCookie) + "=" + value + "; Path=/; Max-Age=" + std::to_string(lasts.count()) +
         "; HttpOnly; SameSite=Strict" + (secure ? "; Secure" : "");
}

http::Response state_reported(const PageParts& parts, bool open) {
  return page_reported(
      200, {{"token_needed", parts.token.has_value()}, {"open", open}, {"changes", parts.operators.has_value()}});
}

http::Response pass_state(const PageParts& parts, const http::Request& request) {
  const bool open = !parts.token || parts.token->admits_pass(page_header(request, "cookie"), parts.clock.wall());
  return state_reported(parts, open);
}

std::optional<http::Response> refuse_foreign(const http::Request& request) {
  if (page_header(request, kOwnHeader) == "page") return std::nullopt;
  return page_reported(
      403,
      {{"error", "permission denied: the request does not come from the page (header X-Wattle: page is missing)"}});
}

// Size of {"token": "..."}, in which every character of a long token may be escaped.
std::size_t most_pass_bytes(const PageParts& parts) {
  return std::max(http::kSmallestBodyBytes, parts.token ? 2 * parts.token->size() + 64 : 0);
}

http::Response give_pass(const PageParts& parts, const http::Request& request) {
  if (auto refused = refuse_foreign(request)) return std::move(*refused);
  if (!parts.token) return state_reported(parts, true);
  const json body = json::read(request.body, {.text_bytes = 64 << 10, .built_bytes = 1 << 20});
  if (!body.is_object() || !body.contains("token") || !body["token"].is_string())
    return page_reported(400, {{"error", "the body is not {\"token\": \"...\"}"}});
  static constexpr std::array<std::string_view, 1> kFields{"token"};
  if (const Status known = check_fields("the body", body, kFields); !known)
    return page_reported(400, {{"error", known.error().message()}});
  if (!parts.token->is(body["token"].get<std::string>()))
    return page_refused(401, http::Refused::token, "wrong token (use the token of http.token_file)");
  http::Response response = state_reported(parts, true);
  response.headers.emplace_back("Set-Cookie",
                                cookie(parts.token->pass(parts.clock.wall() + kPassLasts), kPassLasts, parts.secure));
  return response;
}

http::Response take_pass(const PageParts& parts, const http::Request& request) {
  if (auto refused = refuse_foreign(request)) return std::move(*refused);
  http::Response response = state_reported(parts, false);
  response.headers.emplace_back("Set-Cookie", cookie("", std::chrono::seconds(0), parts.secure));
  return response;
}

}  // namespace

void add_page(http::Routes& routes, std::set<std::string>& open_paths, PageParts given) {
  const auto parts = std::make_shared<const PageParts>(std::move(given));
  for (const Asset& asset : assets()) {
    const std::string path(asset.path);
    routes["GET " + path] = [asset](const http::Request& request) { return file(asset, request); };
    open_paths.insert(path);
  }
  const std::string pass(kPagePass);
  open_paths.insert(pass);
  routes["GET " + pass] = [parts](const http::Request& request) { return pass_state(*parts, request); };
  routes["POST " + pass] = {[parts](const http::Request& request) { return give_pass(*parts, request); },
                            most_pass_bytes(*parts), refuse_foreign};
  routes["DELETE " + pass] = [parts](const http::Request& request) { return take_pass(*parts, request); };
  const std::string change(kPageChange);
  open_paths.insert(change);  // it requires its own token
  routes["POST " + change] = {
      [parts](const http::Request& request) { return answer_change(parts->operators, parts->change, request); },
      kMostChangeBytes, [parts](const http::Request& request) { return refuse_change(parts->operators, request); }};
  routes["GET " + std::string(kPageLive)] = [parts](const http::Request& request) {
    if (const Status known = check_query(kNoQuery, request); !known)
      return page_reported(400, {{"error", known.error().message()}});
    http::Response response{200, "text/event-stream", {}};
    response.headers = {{"X-Content-Type-Options", "nosniff"}, {"X-Accel-Buffering", "no"}};
    response.stream = parts->live;
    return response;
  };
}

}  // namespace wattle::controller
