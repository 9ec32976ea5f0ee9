// reader_review: identifies people who read through their cluster, by a token that the API server issued for the
// chart's account wattle-reader (TokenRequest) and confirms for our audience (TokenReview).
// Source   claims of the token (common/token_claims.hpp); POST /apis/authentication.k8s.io/v1/tokenreviews
// Rules    a token admits one key, until the token expires and for at most ten minutes. A token with other claims, an
//          expired one, and one that the API server refused within the last minute are refused without a review.
//          Reviews have a rate; after one without an answer, none follows for five seconds
// Memory   at most kMostKept results of reviews, each until it expires
// Errors   refusals of reviewer.hpp; unavailable: the API server cannot be reached or denies the request
// Threads  any, one request at a time
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "common/clock.hpp"
#include "common/kube/http_api.hpp"
#include "controller/enrol/reviewer.hpp"

namespace wattle::controller {

class ReaderReview final : public Reviewer {
 public:
  static constexpr std::size_t kMostKept = 2048;
  // `account`: "namespace/name". `clock` must outlive this object.
  ReaderReview(kube::ApiServer server, const std::string& account, const Clock& clock);
  // True if the token claims to be one of the account's. Anyone can write such a token.
  bool names_account(std::string_view token) const;
  Reviewed<Admission> review(std::string_view token, const std::string& key) override;
  Status admitted(std::string_view, const std::string&) override { return {}; }
  std::size_t kept() const { return kept_.size(); }

 private:
  struct Kept {
    MonoTime until;
    std::string key;  // that the token admits
    std::optional<EnrolRefusal> refusal;
  };
  Reviewed<Admission> ask(std::string_view token, const std::string& hash, const std::string& key, MonoTime until);
  bool take_turn(MonoTime now);

  const std::string user_;  // of the account, as the API server names it
  const Clock& clock_;
  std::mutex mutex_;  // guards the members below
  kube::HttpApi api_;
  std::map<std::string, Kept, std::less<>> kept_;  // by the token's hash
  double turns_;
  MonoTime turned_at_{};
  std::optional<EnrolRefusal> unanswered_;
  MonoTime unanswered_until_{};
};

}  // namespace wattle::controller
