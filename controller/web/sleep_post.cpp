#include "controller/web/sleep_post.hpp"

#include <array>
#include <string_view>
#include <utility>

#include "common/json/value.hpp"
#include "controller/known_fields.hpp"
#include "controller/web/known_arguments.hpp"
#include "controller/web/page_answers.hpp"

namespace wattle::controller {

namespace {

using json = SortedJson;

constexpr const char* kForm = R"(the body is not {"order": "sleep-wake", "node": "NAME"} with order sleep-wake or )"
                              "sleep-empty";

std::optional<http::Response> refuse_order(const std::optional<http::Token>& operators, const http::Request& request) {
  using http::Refused;
  if (!operators)
    return page_refused(403, Refused::path,
                        "orders over HTTP are disabled (set http.operator_token_file to a file with an operator's "
                        "token)");
  if (!operators->admits(request.authorization))
    return page_refused(401, Refused::token, "wrong token (use the token of http.operator_token_file)");
  if (!is_json(page_header(request, "content-type")))
    return page_refused(415, Refused::malformed, "the content type of the body is not application/json");
  return std::nullopt;
}

int order_status(Errc code) {
  if (code == Errc::malformed || code == Errc::out_of_range) return 400;
  if (code == Errc::not_found) return 404;
  return code == Errc::conflict || code == Errc::unsupported ? 409 : 503;
}

http::Response answer_order(const MakeChange& make, const http::Request& request) {
  const json body = json::read(request.body, {.text_bytes = 64 << 10, .built_bytes = 1 << 20});
  static constexpr std::array<std::string_view, 2> kFields{"order", "node"};
  Status fields = check_query(kNoQuery, request);
  if (fields && body.is_object()) fields = check_fields("the body", body, kFields);
  if (!fields) return page_reported(400, {{"error", fields.error().message()}});
  Arguments arguments;
  if (body.is_object())
    for (const auto& [name, value] : body.items())
      if (value.is_string()) arguments[name] = value.get<std::string>();
  const bool known = arguments["order"] == "sleep-wake" || arguments["order"] == "sleep-empty";
  if (!known || arguments["node"].empty() || body.size() != arguments.size())
    return page_reported(400, {{"error", kForm}});
  const auto made = make(arguments, "http/" + request.from);
  if (!made) return page_reported(order_status(made.error().code), {{"error", made.error().message()}});
  return {200, "application/json", *made, {{"Cache-Control", "no-store"}}, nullptr, {}};
}

}  // namespace

void add_sleep_post(http::Routes& routes, std::set<std::string>& open_paths,
                    const std::optional<http::Token>& operators, MakeChange make) {
  open_paths.insert(std::string(kSleepPost));  // it requires its own token
  routes["POST " + std::string(kSleepPost)] = {
      [operators, make = std::move(make)](const http::Request& request) {
        if (auto refused = refuse_order(operators, request)) return std::move(*refused);
        return answer_order(make, request);
      },
      http::kSmallestBodyBytes, [operators](const http::Request& request) { return refuse_order(operators, request); }};
}

}  // namespace wattle::controller
