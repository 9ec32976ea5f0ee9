#include "controller/enrol/reader_review.hpp"

#include <algorithm>
#include <utility>

#include "common/enrol_tokens.hpp"
#include "common/token_claims.hpp"
#include "controller/enrol/token_review.hpp"

namespace wattle::controller {
namespace {

// A command waits for ten seconds; the limit of our own listener is five.
constexpr std::chrono::milliseconds kReviewPatience{2000};
constexpr Duration kAdmitFor = std::chrono::minutes(10);  // the shortest life that a TokenRequest can ask for
constexpr Duration kKeepRefusal = std::chrono::minutes(1);
constexpr Duration kPauseUnanswered = std::chrono::seconds(5);
// Each command of each person takes one turn. Within kAdmitFor fewer turns pass than kMostKept.
constexpr double kReviewsPerSecond = 2, kReviewBurst = 20;
constexpr const char* kLoginFix = "run the command again: `wattle --context` requests a token for each command";

std::string user_name_of(const std::string& account) {
  std::string user = "system:serviceaccount:" + account;
  std::replace(user.begin(), user.end(), '/', ':');
  return user;
}

// Returns the time until the token expires, less a second: the controller ends admissions once a second.
Duration life_left(const TokenClaims& claims, WallTime now) {
  constexpr std::int64_t kMost_s = 3600;
  const Duration since = now.time_since_epoch();
  const auto now_s = std::chrono::floor<std::chrono::seconds>(since);
  const std::chrono::seconds left(std::min(claims.expires_s - now_s.count() - 1, kMost_s));
  return left - (since - now_s);
}

tl::unexpected<EnrolRefusal> refuse_login(EnrolRefused why, std::string what) {
  return because(why,
                 {why == EnrolRefused::rate ? Errc::exhausted : Errc::denied, "the token", std::move(what), kLoginFix});
}

}  // namespace

ReaderReview::ReaderReview(kube::ApiServer server, const std::string& account, const Clock& clock)
    : user_(user_name_of(account)),
      clock_(clock),
      api_(std::move(server), kReviewPatience, kReviewPatience),
      turns_(kReviewBurst) {}

bool ReaderReview::names_account(std::string_view token) const {
  const auto claims = unverified_claims(token);
  return claims && claims->subject == user_;
}

Reviewed<Admission> ReaderReview::review(std::string_view token, const std::string& key) {
  const std::lock_guard lock(mutex_);
  const MonoTime now = clock_.mono();
  const auto claims = unverified_claims(token);
  if (!claims || claims->subject != user_) return refuse_login(EnrolRefused::token, "is not one of " + user_);
  if (std::ranges::find(claims->audiences, kTokenAudience) == claims->audiences.end())
    return refuse_login(EnrolRefused::token, "is for another audience than " + std::string(kTokenAudience));
  const Duration left = life_left(*claims, clock_.wall());
  if (left <= Duration::zero())
    return refuse_login(EnrolRefused::expired, "has expired, by the clock of the controller's machine");
  const std::string hash = enrol_hash(token);
  if (const auto found = kept_.find(hash); found != kept_.end() && now < found->second.until) {
    const Kept& kept = found->second;
    if (kept.refusal) return tl::unexpected<EnrolRefusal>(*kept.refusal);
    if (kept.key != key) return refuse_login(EnrolRefused::used, "has been used by another key");
    return Admission{"", user_, false, kept.until - now};
  }
  if (unanswered_ && now < unanswered_until_) return tl::unexpected<EnrolRefusal>(*unanswered_);
  if (!take_turn(now)) return refuse_login(EnrolRefused::rate, "waits: too many logins at once");
  std::erase_if(kept_, [&](const auto& each) { return each.second.until <= now; });
  if (kept_.size() >= kMostKept) return refuse_login(EnrolRefused::rate, "waits: too many readers are logged in");
  return ask(token, hash, key, now + std::min(left, kAdmitFor));
}

// `until` comes from the token's own claims, which count only because the API server confirms the token here.
Reviewed<Admission> ReaderReview::ask(std::string_view token, const std::string& hash, const std::string& key,
                                      MonoTime until) {
  const auto user = review_user(api_, token, kLoginFix);
  if (!user && user.error().why == EnrolRefused::unavailable) {
    unanswered_ = user.error();
    unanswered_until_ = clock_.mono() + kPauseUnanswered;
    return tl::unexpected<EnrolRefusal>(user.error());
  }
  const MonoTime now = clock_.mono();
  std::optional<EnrolRefusal> refusal;
  if (!user)
    refusal = user.error();
  else if ((*user)["username"] != user_)
    refusal = refuse_login(EnrolRefused::token, "belongs to another user").value();
  else if (until <= now)
    refusal = refuse_login(EnrolRefused::expired, "has expired").value();
  kept_[hash] = {refusal ? now + kKeepRefusal : until, key, refusal};
  if (refusal) return tl::unexpected<EnrolRefusal>(*refusal);
  return Admission{"", user_, false, until - now};
}

bool ReaderReview::take_turn(MonoTime now) {
  turns_ = std::min(kReviewBurst, turns_ + seconds(now - turned_at_) * kReviewsPerSecond);
  turned_at_ = now;
  if (turns_ < 1) return false;
  turns_ -= 1;
  return true;
}

}  // namespace wattle::controller
