#include "controller/enrol/token_file.hpp"

#include <algorithm>

#include "common/digest.hpp"
#include "common/enrol_tokens.hpp"
#include "common/transport/allow_edit.hpp"
#include "common/trusted_file.hpp"

namespace wattle::controller {
namespace {

constexpr const char* kNewToken = "create another token with wattle keys token new";

}  // namespace

Reviewed<Admission> TokenFile::review(std::string_view token, const std::string& key) {
  const std::lock_guard lock(mutex_);
  if (const Status trusted = check_authority(path_); !trusted)
    return because(EnrolRefused::unavailable, trusted.error());
  const auto text = read_enrol_file(path_);
  if (!text) return because(EnrolRefused::unavailable, text.error());
  const auto tokens = parse_enrol_tokens(*text, path_);
  if (!tokens) return because(EnrolRefused::unavailable, tokens.error());
  const std::string hash = enrol_hash(token);
  const auto found =
      std::find_if(tokens->begin(), tokens->end(), [&](const EnrolToken& one) { return same_secret(one.hash, hash); });
  if (found == tokens->end())
    return because(EnrolRefused::token, {Errc::denied, "the token", "was not created by this controller", kNewToken});
  const std::string subject = "token " + found->id();
  if (!found->used_by.empty() && found->used_by != key)
    return because(EnrolRefused::used, {Errc::denied, subject, "has been used", kNewToken});
  if (to_ns(clock_.wall()) / 1'000'000'000 >= found->expires_s)
    return because(EnrolRefused::expired, {Errc::denied, subject, "has expired", kNewToken});
  return Admission{found->node, subject, found->replace};
}

Status TokenFile::admitted(std::string_view token, const std::string& key) {
  const std::lock_guard lock(mutex_);
  WATTLE_TRY(const Fd held, transport::lock_list(path_));
  WATTLE_CHECK(check_authority(path_));
  WATTLE_TRY(const std::string text, read_enrol_file(path_));
  WATTLE_TRY(auto tokens, parse_enrol_tokens(text, path_));
  const std::string hash = enrol_hash(token);
  for (EnrolToken& one : tokens) {
    if (one.hash != hash || one.used_by == key) continue;
    one.used_by = key;
    one.used_s = to_ns(clock_.wall()) / 1'000'000'000;
    return write_file_atomically(path_, with_enrol_token(text, one), 0644);
  }
  return {};
}

}  // namespace wattle::controller
