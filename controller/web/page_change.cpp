#include "controller/web/page_change.hpp"

#include <array>
#include <string_view>

#include "common/json/value.hpp"
#include "controller/known_fields.hpp"
#include "controller/web/known_arguments.hpp"
#include "controller/web/page_answers.hpp"

namespace wattle::controller {
namespace {

using json = SortedJson;

// Checks the origin that the browser reports. Browsers send Sec-Fetch-Site only with TLS or on loopback.
bool is_of_this_origin(const http::Request& request) {
  const std::string site = page_header(request, "sec-fetch-site");
  if (!site.empty()) return site == "same-origin";
  const std::string origin = page_header(request, "origin");
  if (origin.empty()) return true;  // not a browser: other clients do not send a token on their own
  const auto scheme = origin.find("://");
  return scheme != std::string::npos && origin.substr(scheme + 3) == page_header(request, "host");
}

// Returns "" if the argument is valid.
std::string wrong_with(const std::string& name, const json& value) {
  if (name == "force") return value.is_boolean() ? "" : "argument force: is neither true nor false";
  if (name == "mode" || name == "policy" || name == "cpu_wait" || name == "late" || name == "why")
    return value.is_string() && !value.string().empty() ? "" : "argument " + name + ": is not a string";
  static constexpr std::array<std::string_view, 6> kFields{"mode", "policy", "cpu_wait", "late", "force", "why"};
  const Status known = check_fields("the body", {{name, value}}, kFields);
  return known ? "" : known.error().message();
}

int status_of(Errc code) {
  if (code == Errc::malformed || code == Errc::out_of_range) return 400;
  if (code == Errc::denied) return 409;
  return 503;
}

}  // namespace

Result<std::optional<http::Token>> load_operators(const std::string& file, const std::optional<http::Token>& readers) {
  if (file.empty()) return std::optional<http::Token>();
  WATTLE_TRY(const std::string word, http::load_token(file));
  if (readers && readers->is(word))
    return fail(Errc::conflict, file, "contains the token of http.token_file: readers could make changes",
                "write another token to it");
  WATTLE_TRY(http::Token token, http::Token::load(file));
  return std::optional(std::move(token));
}

std::optional<http::Response> refuse_change(const std::optional<http::Token>& operators, const http::Request& request) {
  using http::Refused;
  if (!operators)
    return page_refused(
        403, Refused::path,
        "changes from the page are disabled (set http.operator_token_file to a file with an operator's token, "
        "or use wattle policy set)");
  if (page_header(request, kOwnHeader) != "page")
    return page_refused(
        403, Refused::foreign,
        "permission denied: the request does not come from the page (header X-Wattle: page is missing)");
  if (!is_of_this_origin(request))
    return page_refused(403, Refused::foreign, "permission denied: the request comes from another site");
  if (!operators->admits(request.authorization))
    return page_refused(401, Refused::token, "wrong token (use the token of http.operator_token_file)");
  if (!is_json(page_header(request, "content-type")))
    return page_refused(415, Refused::malformed, "the content type of the body is not application/json");
  return std::nullopt;
}

http::Response answer_change(const std::optional<http::Token>& operators, const MakeChange& make,
                             const http::Request& request) {
  if (auto refused = refuse_change(operators, request)) return std::move(*refused);
  if (const Status known = check_query(kNoQuery, request); !known)
    return page_reported(400, {{"error", known.error().message()}});
  const json body = json::read(request.body, {.text_bytes = 64 << 10, .built_bytes = 1 << 20});
  if (!body.is_object())
    return page_reported(400, {{"error",
                                "the body is not {\"mode\": \"...\", \"policy\": \"...\", \"cpu_wait\": \"...\", "
                                "\"late\": \"...\", \"why\": \"...\"}"}});
  std::map<std::string, std::string> arguments;
  for (const auto& [name, value] : body.items()) {
    const std::string wrong = wrong_with(name, value);
    if (!wrong.empty()) return page_reported(400, {{"error", wrong}});
    if (name != "force") arguments[name] = value.get<std::string>();
    if (name == "force" && value.get<bool>()) arguments[name] = "yes";
  }
  const auto given = [&](const char* name) { return arguments.contains(name); };
  if (!given("mode") && !given("policy") && !given("cpu_wait") && !given("late"))
    return page_reported(400, {{"error", "no setting given (use mode, policy, cpu_wait or late)"}});
  const auto made = make(arguments, "page/" + request.from);
  if (!made) return page_reported(status_of(made.error().code), {{"error", made.error().message()}});
  return {200, "application/json", *made, {{"Cache-Control", "no-store"}}, nullptr, {}};
}

}  // namespace wattle::controller
