#include "controller/power/api_errors.hpp"

#include "common/json/value.hpp"

namespace wattle::controller::power {
namespace {

constexpr JsonLimits kStatusLimits{1 << 20, 16 << 20};
constexpr std::size_t kMostMessageBytes = 512;

Errc code_of(int status) {
  switch (status) {
    case 400:
    case 413:
    case 422:
      return Errc::malformed;
    case 401:
    case 403:
      return Errc::denied;
    case 404:
      return Errc::not_found;
    case 409:
      return Errc::conflict;
    default:
      return Errc::unavailable;
  }
}

}  // namespace

std::string message_of(const kube::Reply& reply) {
  const SortedJson status = SortedJson::read(reply.body, kStatusLimits);
  const SortedJson& message = status["message"];
  return message.is_string() ? message.string().substr(0, kMostMessageBytes) : std::string();
}

tl::unexpected<Error> api_error(const std::string& subject, const kube::Reply& reply, const std::string& right) {
  const std::string message = message_of(reply);
  const Errc code = code_of(reply.status);
  std::string fix;
  if (code == Errc::denied) fix = "set sleep.mode to auto in the chart, which grants the right to " + right;
  return fail(code, subject,
              "the API server returned HTTP " + std::to_string(reply.status) + (message.empty() ? "" : ": " + message),
              std::move(fix));
}

}  // namespace wattle::controller::power
