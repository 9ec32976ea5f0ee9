#include "controller/power/redfish_client.hpp"

#include <utility>

#include "common/base64.hpp"
#include "common/http/url.hpp"
#include "controller/power/kept_output.hpp"
#include "controller/power/redfish_answer.hpp"

namespace wattle::controller::power {
namespace {

constexpr const char* kSessions = "/redfish/v1/SessionService/Sessions";
// Resolving, connecting, the handshake and the answer have a limit each.
constexpr int kSteps = 4;

Errc code_of_status(int status) {
  switch (status) {
    case 401:
    case 403:
      return Errc::denied;
    case 404:
    case 410:
      return Errc::not_found;
    case 408:
    case 504:
      return Errc::timeout;
    case 409:
    case 423:
      return Errc::conflict;
    case 429:
      return Errc::unavailable;
    default:
      if (status >= 500) return Errc::unavailable;
      return status >= 300 && status < 400 ? Errc::malformed : Errc::io;
  }
}

}  // namespace

RedfishClient::RedfishClient(http::Origin origin, std::string credentials_file, Credentials credentials,
                             const TimeLeft& time)
    : address_(origin.url()),
      credentials_file_(std::move(credentials_file)),
      credentials_(std::move(credentials)),
      time_(time),
      client_(std::move(origin), kMostRedfishBytes),
      secrets_{credentials_.password, credentials_.user + ":" + credentials_.password} {
  client_.accept("application/json");
  client_.header("OData-Version", "4.0");
}

RedfishClient::~RedfishClient() {
  // A BMC has few sessions. One that cannot be ended now ends by the BMC's own timeout.
  if (!session_.empty()) static_cast<void>(request("DELETE", session_, ""));
}

Result<std::unique_ptr<RedfishClient>> RedfishClient::open_(const RedfishConfig& config, const Node& node,
                                                            const TimeLeft& time) {
  WATTLE_TRY(const std::string address, for_node(config.address, node));
  WATTLE_TRY(const std::string file, for_node(config.credentials_file, node));
  WATTLE_TRY(http::Url url, http::parse_url(address, "for example https://10.0.0.7"));
  WATTLE_TRY(Credentials credentials, read_credentials(file));
  if (url.origin.tls) {
    url.origin.tls->ca_file = config.ca_file;
    url.origin.tls->fingerprint = config.fingerprint;
  }
  std::unique_ptr<RedfishClient> client(new RedfishClient(std::move(url.origin), file, std::move(credentials), time));
  if (config.session) {
    WATTLE_CHECK(client->log_in());
  } else {
    client->client_.header("Authorization", "Basic " + base64_encode(client->secrets_.back()));
  }
  return client;
}

Status RedfishClient::log_in() {
  const OrderedJson who{{"UserName", credentials_.user}, {"Password", credentials_.password}};
  WATTLE_TRY(const http::Answer answer, request("POST", kSessions, who.dump()));
  const auto token = answer.headers.find("x-auth-token"), location = answer.headers.find("location");
  if (token == answer.headers.end() || token->second.empty())
    return fail(Errc::malformed, url(kSessions), "the BMC has opened a session without a token",
                "remove redfish.session");
  secrets_.push_back(token->second);
  client_.header("X-Auth-Token", token->second);
  // The location may be a whole URL; only its path is used.
  std::string path = location == answer.headers.end() ? std::string() : location->second;
  if (const auto at = path.find("/redfish/"); at != std::string::npos) path.erase(0, at);
  if (is_redfish_path(path)) session_ = std::move(path);
  return {};
}

Error RedfishClient::without_secrets(Error error) const {
  error.subject = redact(std::move(error.subject), secrets_);
  error.what = redact(std::move(error.what), secrets_);
  error.fix = redact(std::move(error.fix), secrets_);
  return error;
}

Error RedfishClient::refusal(const http::Answer& answer, const std::string& path) const {
  Error error{code_of_status(answer.status), url(path), "", ""};
  // Secrets are removed before the text is truncated, so that no part of one remains.
  const std::string messages = parse_messages(answer.body);
  const std::string said = redact(messages.empty() ? answer.body : messages, secrets_);
  error.what = with_output("the BMC answers " + std::to_string(answer.status), said);
  if (error.code == Errc::denied)
    error.fix = "check user, password and the user's role in " + credentials_file_;
  else if (error.code == Errc::malformed)
    error.fix = "set redfish.address to where it redirects; Wattle follows no redirect";
  else if (error.code == Errc::not_found)
    error.fix = "check redfish.address and redfish.system";
  return error;
}

Result<http::Answer> RedfishClient::request(const std::string& method, const std::string& path,
                                            const std::string& body) {
  const auto limit = time_.left() / kSteps;
  if (limit.count() == 0)
    return fail(Errc::timeout, url(path), "no answer within " + std::to_string(time_.limit().count()) + " ms");
  auto answer = client_.request(method, path, body, limit);
  if (!answer) {
    Error error = without_secrets(std::move(answer.error()));
    if (error.code == Errc::denied) error.fix = "check redfish.ca_file and redfish.fingerprint";
    return tl::unexpected<Error>(std::move(error));
  }
  if (answer->status < 200 || answer->status >= 300)
    return tl::unexpected<Error>(without_secrets(refusal(*answer, path)));
  return answer;
}

Result<std::string> RedfishClient::get(const std::string& path) {
  WATTLE_TRY(http::Answer answer, request("GET", path, ""));
  return std::move(answer.body);
}

Status RedfishClient::post(const std::string& path, const OrderedJson& body) {
  WATTLE_CHECK(request("POST", path, body.dump()));
  return {};
}

}  // namespace wattle::controller::power
