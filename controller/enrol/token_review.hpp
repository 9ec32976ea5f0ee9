// token_review: identifies the node behind a projected service account token through the API server that issued it.
// Source   POST /apis/authentication.k8s.io/v1/tokenreviews with our audience. The node is the one that the token's pod
//          is bound to: the claim authentication.kubernetes.io/node-name (Kubernetes 1.30 and later), otherwise that of
//          the pod, which must still have the claim's UID
// Rules    the token must be valid for our audience, be bound to a pod, and belong to an allowed service account,
//          because any pod may request a token for itself. The token proves its node at each use, so that the node may
//          replace its key
// Errors   refusals of reviewer.hpp; unavailable: the API server cannot be reached or denies the request
// Threads  any, one request at a time
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "common/json/value.hpp"
#include "common/kube/http_api.hpp"
#include "controller/enrol/reviewer.hpp"

namespace wattle::controller {

// Returns the API server's `user` for a token that it confirms for our audience. `fix`: for a token of another one.
Reviewed<SortedJson> review_user(kube::HttpApi& api, std::string_view token, const std::string& fix);

struct TokenReviewOptions {
  std::vector<std::string> accounts{"wattle-agent/wattle-agent"};  // "namespace/name"
};

class TokenReview final : public Reviewer {
 public:
  TokenReview(kube::ApiServer server, TokenReviewOptions options);
  Reviewed<Admission> review(std::string_view token, const std::string& key) override;
  // Needs no state: a token may be used again until it expires.
  Status admitted(std::string_view, const std::string&) override { return {}; }

 private:
  struct Claims;
  Reviewed<std::string> node_of(const Claims& claims);

  const TokenReviewOptions options_;
  std::mutex mutex_;  // guards the connection
  kube::HttpApi api_;
};

}  // namespace wattle::controller
