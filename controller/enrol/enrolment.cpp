#include "controller/enrol/enrolment.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <optional>

#include "common/enrol_tokens.hpp"
#include "common/json/value.hpp"
#include "common/transport/allow_edit.hpp"
#include "common/transport/allow_file.hpp"
#include "common/trusted_file.hpp"
#include "controller/known_fields.hpp"

namespace wattle::controller {
namespace {

using json = SortedJson;
using transport::AllowLine;
constexpr std::size_t kMaxToken = 16 << 10;  // a service account token is a signed document
constexpr std::array<int, kEnrolRefusedNames.size()> kStatus{429, 400, 401, 401, 401, 403, 409, 409, 503};

std::string_view token_of(std::string_view authorization) {
  static constexpr std::string_view kScheme = "bearer ";
  if (authorization.size() <= kScheme.size()) return {};
  for (std::size_t i = 0; i < kScheme.size(); ++i)
    if (std::tolower(static_cast<unsigned char>(authorization[i])) != kScheme[i]) return {};
  return authorization.substr(kScheme.size());
}

std::string dump(const json& document) { return document.dump(); }

}  // namespace

Status may_replace(const std::string& file) {
  const auto folder = std::filesystem::path(file).parent_path();
  const std::string path = folder.empty() ? "." : folder.string();
  if (::access(path.c_str(), W_OK | X_OK) == 0) return {};
  return fail(
      Errc::denied, path, "the controller cannot write to this folder, but enrolment changes " + file,
      "move the file to a folder that the controller's user can write to, for example /var/lib/wattle-controller");
}

Reviewed<std::string> enrolled_list(const std::string& text, const std::string& key, const Admission& admission) {
  const std::string agent(transport::to_string(transport::Role::agent));
  if (transport::is_revoked(text, key))
    return because(EnrolRefused::revoked_key,
                   {Errc::denied, "key " + key, "was revoked",
                    "remove the agent's key file so that it creates another key, or allow the key: "
                    "wattle keys allow"});
  std::vector<std::string> others;
  for (const AllowLine& line : transport::allow_lines(text)) {
    const bool mine = line.role == agent && line.name == admission.node;
    if (line.key == key && mine) return text;
    if (line.key == key)
      return because(EnrolRefused::other_node, {Errc::conflict, "key " + key, "is " + line.role + " " + line.name,
                                                "use one key per node: remove the agent's key file"});
    if (mine) others.push_back(line.key);
  }
  if (!others.empty() && !admission.replace)
    return because(EnrolRefused::other_key,
                   {Errc::conflict, "node " + admission.node, "already has another key",
                    "wattle keys revoke " + admission.node + ", or use a token created with --replace"});
  return transport::with_line(others.empty() ? text : transport::without_keys(text, others),
                              {key, agent, admission.node});
}

Enrolment::Enrolment(EnrolOptions options, std::unique_ptr<Reviewer> reviewer, EnrolCounts& counts, const Clock& clock,
                     const Log& log)
    : options_(std::move(options)),
      reviewer_(std::move(reviewer)),
      clock_(clock),
      log_(log),
      counts_(counts),
      turns_(options_.burst) {}

bool Enrolment::take_turn() {
  const std::lock_guard lock(mutex_);
  const MonoTime now = clock_.mono();
  turns_ = std::min(options_.burst, turns_ + seconds(now - turned_at_) * options_.per_s);
  turned_at_ = now;
  if (turns_ < 1) return false;
  turns_ -= 1;
  return true;
}

http::Response Enrolment::answer(const http::Request& request) {
  const auto done = enrol(request);
  if (!done) return refuse(done.error());
  return {200, "application/json", *done};
}

http::Response Enrolment::refuse(const EnrolRefusal& refusal) {
  counts_.add(refusal.why);
  const auto index = static_cast<std::size_t>(refusal.why);
  std::optional<std::uint64_t> count;
  {
    const std::lock_guard lock(mutex_);
    count = reported_.note(std::string(kEnrolRefusedNames[index]), clock_.mono());
  }
  if (count)
    log_.warn("peer.refused", "an enrolment was rejected",
              {{"endpoint", "enrol"},
               {"reason", kEnrolRefusedNames[index]},
               {"subject", refusal.error.subject},
               {"what", refusal.error.what},
               {"count", *count}});
  return {kStatus[index], "application/json", dump({{"error", refusal.error.message()}})};
}

Reviewed<std::string> Enrolment::enrol(const http::Request& request) {
  if (!take_turn())
    return because(EnrolRefused::rate,
                   {Errc::exhausted, "enrolment", "too many requests", "the agent retries automatically"});
  const std::string_view token = token_of(request.authorization);
  if (token.empty() || token.size() > kMaxToken)
    return because(EnrolRefused::malformed, {Errc::malformed, "Authorization", "sent no bearer token", ""});
  const json body = json::read(request.body, {.text_bytes = 64 << 10, .built_bytes = 1 << 20});
  static constexpr std::array<std::string_view, 2> kFields{"public_key", "node"};
  if (body.is_object()) {
    if (const Status known = check_fields("the body", body, kFields); !known)
      return because(EnrolRefused::malformed, known.error());
    if (body.contains("node") && !body["node"].is_string())
      return because(EnrolRefused::malformed, {Errc::malformed, "field node", "is not a string", "send a node's name"});
  }
  const bool has_key = body.is_object() && body.contains("public_key") && body["public_key"].is_string();
  const std::string key = has_key ? body["public_key"].get<std::string>() : std::string();
  if (!transport::is_public_key(key))
    return because(EnrolRefused::malformed, {Errc::malformed, "public_key", "is not a Z85 key of 40 characters", ""});
  const bool wants = body.contains("node") && body["node"].is_string();
  const auto admission = admit(token, key, wants ? body["node"].get<std::string>() : std::string());
  if (!admission) return tl::unexpected<EnrolRefusal>(admission.error());
  json keys = json::array({options_.public_key});
  const auto known = transport::load_server_keys(options_.key_file + ".pub");
  if (known && known->current == options_.public_key && !known->next.empty()) keys.push_back(known->next);
  json answer{{"node", admission->node}, {"server_keys", keys}};
  if (admission->reads_for)
    answer["valid_s"] = std::chrono::duration_cast<std::chrono::seconds>(*admission->reads_for).count();
  else
    counts_.add_enrolled();
  return answer.dump();
}

// Checks the list first, so that a refused request does not use up the token. Then binds the token to this key, then
// allows the key. After a crash in between, the token is valid for this key only.
Reviewed<Admission> Enrolment::admit(std::string_view token, const std::string& key, const std::string& wanted) {
  const std::lock_guard lock(edit_mutex_);  // otherwise two requests could use one token
  auto admission = reviewer_->review(token, key);
  if (!admission) return admission;
  if (admission->reads_for) return admit_reader(key, *admission);
  if (admission->node == kAnyNode) {
    if (!transport::Identity::from_user_id("agent/" + wanted))
      return because(EnrolRefused::malformed, {Errc::malformed, "node", "is not a valid node name",
                                               "the token is for any node, so the agent must send its node name"});
    admission->node = wanted;
  }
  if (const auto looked = allow(key, *admission, false); !looked) return tl::unexpected<EnrolRefusal>(looked.error());
  if (const Status spent = reviewer_->admitted(token, key); !spent)
    return because(EnrolRefused::unavailable, spent.error());
  if (const auto written = allow(key, *admission, true); !written) return tl::unexpected<EnrolRefusal>(written.error());
  return admission;
}

Reviewed<Admission> Enrolment::admit_reader(const std::string& key, const Admission& admission) {
  const auto list = transport::read_list(options_.allow_file, true);
  if (!list) return because(EnrolRefused::unavailable, list.error());
  if (transport::is_revoked(*list, key))
    return because(EnrolRefused::revoked_key, {Errc::denied, "key " + key, "was revoked", "use another key"});
  const Status admitted = options_.admit_reader(key, *admission.reads_for);
  if (!admitted)
    return because(admitted.error().code == Errc::conflict ? EnrolRefused::other_node : EnrolRefused::rate,
                   admitted.error());
  log_.info("enrol.reader_admitted", "a reader has been admitted for some minutes",
            {{"key", key}, {"valid_s", seconds(*admission.reads_for)}, {"by", admission.by}});
  return admission;
}

Reviewed<void> Enrolment::allow(const std::string& key, const Admission& admission, bool write) {
  const auto unavailable = [](const Error& error) { return because(EnrolRefused::unavailable, error); };
  const auto held = transport::lock_list(options_.allow_file);
  if (!held) return unavailable(held.error());
  // The rewritten file belongs to this process, so it must not adopt content that another user could have written.
  if (const Status trusted = check_authority(options_.allow_file); !trusted) return unavailable(trusted.error());
  const auto text = transport::read_list(options_.allow_file, true);
  if (!text) return unavailable(text.error());
  const auto changed = enrolled_list(*text, key, admission);
  if (!changed) return tl::unexpected<EnrolRefusal>(changed.error());
  if (!write || *changed == *text) return {};
  if (const Status written = transport::write_list(options_.allow_file, *changed); !written)
    return unavailable(written.error());
  log_.info("enrol.done", "an agent has been enrolled", {{"node", admission.node}, {"key", key}, {"by", admission.by}});
  return {};
}

}  // namespace wattle::controller
