#include "common/kube/http_api.hpp"

#include <cstdlib>
#include <utility>

#include "common/dir.hpp"
#include "common/http/url.hpp"
#include "common/parse.hpp"

namespace wattle::kube {
namespace {

const std::string kAccount = "/var/run/secrets/kubernetes.io/serviceaccount";
constexpr std::size_t kMaxTokenBytes = 64 << 10;

Reply reply_of(http::Answer answer) {
  Reply reply{answer.status, std::move(answer.body)};
  const auto found = answer.headers.find("retry-after");  // API servers send seconds
  const auto wait_s = found == answer.headers.end() ? std::nullopt : parse::u64(parse::trim(found->second));
  if (wait_s && *wait_s <= 86'400) reply.retry_after = std::chrono::seconds(*wait_s);
  return reply;
}

}  // namespace

Result<http::Origin> parse_url(const std::string& url) {
  const std::string example = "for example https://10.96.0.1:443";
  WATTLE_TRY(http::Url server, http::parse_url(url, example));
  if (server.target.find_first_not_of('/') != std::string::npos)
    return fail(Errc::malformed, url, "contains a path", example);
  return std::move(server.origin);
}

Result<ApiServer> parse_server(const std::string& url) {
  const std::string example = "for example https://10.96.0.1:443 or https://rancher.example/k8s/clusters/c-1";
  WATTLE_TRY(http::Url parsed, http::parse_url(url, example));
  if (parsed.target.find('?') != std::string::npos) return fail(Errc::malformed, url, "contains a query", example);
  while (parsed.target.ends_with('/')) parsed.target.pop_back();
  return ApiServer{std::move(parsed.origin), "", std::move(parsed.target)};
}

Result<ApiServer> in_cluster() {
  const char* host = std::getenv("KUBERNETES_SERVICE_HOST");
  const char* port = std::getenv("KUBERNETES_SERVICE_PORT");
  if (host == nullptr || port == nullptr)
    return fail(Errc::not_found, "KUBERNETES_SERVICE_HOST", "is not set: this process does not run in a pod",
                "set the API server in the configuration");
  const bool bare_v6 = std::string_view(host).find(':') != std::string_view::npos;
  WATTLE_TRY(auto origin,
             parse_url(std::string("https://") + (bare_v6 ? "[" : "") + host + (bare_v6 ? "]:" : ":") + port));
  origin.tls->ca_file = kAccount + "/ca.crt";
  WATTLE_TRY(const Dir account, Dir::open_(kAccount));
  WATTLE_TRY(const File token, account.open_file("token"));
  return ApiServer{std::move(origin), kAccount + "/token"};
}

HttpApi::HttpApi(ApiServer server, std::chrono::milliseconds timeout, std::chrono::milliseconds silence)
    : server_(std::move(server)),
      timeout_(timeout),
      client_(server_.origin),
      stream_(server_.origin, {.connect_within = timeout, .silence = silence}) {
  client_.accept("application/json");
}

Result<std::string> HttpApi::token() const {
  if (server_.token_file.empty()) return std::string();
  WATTLE_TRY(const std::string text, read_file(server_.token_file, kMaxTokenBytes));
  std::string word(parse::trim(text));
  if (word.empty() || word.find_first_of(" \r\n\t") != std::string::npos)
    return fail(Errc::malformed, server_.token_file, "contains no token",
                "use a file with one word, like a service account token");
  return word;
}

Result<Reply> HttpApi::request(const std::string& method, const std::string& target, const std::string& body) {
  WATTLE_TRY(std::string word, token());
  client_.bearer(std::move(word));
  WATTLE_TRY(http::Answer answer, client_.request(method, server_.prefix + target, body, timeout_));
  return reply_of(std::move(answer));
}

Result<Reply> HttpApi::get(const std::string& target) { return request("GET", target, ""); }

Result<Reply> HttpApi::post(const std::string& target, const std::string& body) {
  return request("POST", target, body);
}

Result<Reply> HttpApi::put(const std::string& target, const std::string& body) { return request("PUT", target, body); }

Result<Reply> HttpApi::patch(const std::string& target, const std::string& body) {
  client_.content_type("application/strategic-merge-patch+json");
  auto reply = request("PATCH", target, body);
  client_.content_type("application/json");
  return reply;
}

Result<Reply> HttpApi::remove(const std::string& target) { return request("DELETE", target, ""); }

Result<Reply> HttpApi::stream(const std::string& target, const std::function<bool(std::string_view)>& line) {
  WATTLE_TRY(std::string word, token());
  stream_.bearer(std::move(word));
  WATTLE_TRY(http::Answer answer, stream_.get(server_.prefix + target, line));
  return reply_of(std::move(answer));
}

void HttpApi::stop() {
  client_.stop();
  stream_.stop();
}

}  // namespace wattle::kube
