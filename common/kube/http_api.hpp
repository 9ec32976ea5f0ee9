// http_api: client of an API server over HTTPS, with a service account's rights.
// Source   token_file is read before each request, because kubelets renew it; the authority's file for each new
//          connection
// Errors   not_found, denied (files; TLS), unavailable, timeout, malformed
// Threads  single owner; stop() from any
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "common/http/client.hpp"
#include "common/http/line_stream.hpp"
#include "common/kube/reflector.hpp"

namespace wattle::kube {

struct ApiServer {
  http::Origin origin;
  std::string token_file = {};  // empty: no token is sent
  std::string prefix =
      {};  // path before each request's own, as in Rancher and Teleport: "/k8s/clusters/c-1"; may be empty
};

// The server that every pod can use: its address is in the environment's KUBERNETES_SERVICE_HOST and _PORT, token and
// authority are in /var/run/secrets/kubernetes.io/serviceaccount. not_found: this is not a pod, or it has no token
// mounted.
Result<ApiServer> in_cluster();
// Parses "https://host:port", or http:// for a proxy on loopback.
Result<http::Origin> parse_url(const std::string& url);
// Like parse_url, but allows a path before each request's own: "https://host/k8s/clusters/c-1".
Result<ApiServer> parse_server(const std::string& url);

class HttpApi final : public Api {
 public:
  HttpApi(ApiServer server, std::chrono::milliseconds timeout, std::chrono::milliseconds silence);
  Result<Reply> get(const std::string& target) override;
  Result<Reply> stream(const std::string& target, const std::function<bool(std::string_view)>& line) override;
  Result<Reply> post(const std::string& target, const std::string& body);
  Result<Reply> put(const std::string& target, const std::string& body);
  // Sends a strategic merge patch, which matches containers by name.
  Result<Reply> patch(const std::string& target, const std::string& body);
  Result<Reply> remove(const std::string& target);
  // Call when the client's certificate has changed: later requests present the new one.
  void renew_certificate() { client_.disconnect(); }
  // Ends the current request and refuses all later ones.
  void stop();

 private:
  Result<std::string> token() const;
  Result<Reply> request(const std::string& method, const std::string& target, const std::string& body);

  ApiServer server_;
  std::chrono::milliseconds timeout_;
  http::Client client_;
  http::LineStream stream_;
};

}  // namespace wattle::kube
