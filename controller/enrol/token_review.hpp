// token_review: who stands behind a projected service account token, asked of the API server that made it.
// Source   POST /apis/authentication.k8s.io/v1/tokenreviews with our audience; the node is the one that the token's pod is bound to: the
//          claim authentication.kubernetes.io/node-name (Kubernetes 1.30 on), else the pod itself, which must still have the claim's UID
// Rules    the token must be good for our audience, be bound to a pod, and belong to one of the service accounts that are allowed: any pod
//          may ask for a token of its own. Such a token proves its node anew each time, so that the node may exchange its key
// Errors   refusals as those of reviewer.hpp; unavailable: the API server is away, or does not let us ask
// Threads  any, one request at a time
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "common/kube/http_api.hpp"
#include "controller/enrol/reviewer.hpp"

namespace wattle::controller {

struct TokenReviewOptions {
  std::string audience = "wattle";
  std::vector<std::string> accounts{"wattle-agent/wattle-agent"};  // "namespace/name"
};

class TokenReview final : public Reviewer {
 public:
  TokenReview(kube::ApiServer server, TokenReviewOptions options);
  Reviewed<Admission> review(std::string_view token, const std::string& key) override;
  // What was proven once can be proven again until the token expires.
  Status admitted(std::string_view, const std::string&) override { return {}; }

 private:
  struct Claims;
  Reviewed<std::string> node_of(const Claims& claims);

  const TokenReviewOptions options_;
  std::mutex mutex_;  // guards the connection
  kube::HttpApi api_;
};

// Service accounts' tokens are signed documents, which have two dots; those of common/enrol_tokens.hpp have none.
class EitherReviewer final : public Reviewer {
 public:
  EitherReviewer(std::unique_ptr<Reviewer> file, std::unique_ptr<Reviewer> cluster)
      : file_(std::move(file)), cluster_(std::move(cluster)) {}
  Reviewed<Admission> review(std::string_view token, const std::string& key) override;
  Status admitted(std::string_view token, const std::string& key) override;

 private:
  Reviewer& of(std::string_view token) const;
  const std::unique_ptr<Reviewer> file_, cluster_;
};

}  // namespace wattle::controller
