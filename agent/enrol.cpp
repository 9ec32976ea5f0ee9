#include "agent/enrol.hpp"

#include <algorithm>
#include <functional>

#include "common/dir.hpp"
#include "common/http/enrol.hpp"
#include "common/http/token.hpp"
#include "common/log_throttle.hpp"
#include "common/stopped_within.hpp"
#include "common/transport/allow_edit.hpp"

namespace wattle::agent {
namespace {

constexpr Duration kFirstPause = std::chrono::seconds(1);
constexpr Duration kLongestPause = std::chrono::seconds(300);
// During an installation agents start long before the controller, whose image is larger and whose volume is attached
// later
constexpr Duration kLongestUnanswered = std::chrono::seconds(30);
constexpr Duration kQuiet = std::chrono::seconds(10);  // the controller reads its list within two
constexpr std::size_t kMaxAnswer = 64 << 10;

}  // namespace

Result<std::string> own_public_key(const std::string& key_file) {
  auto pair = transport::KeyPair::load(key_file);
  if (pair) return pair->public_key;
  if (pair.error().code != Errc::not_found) return forward_error(pair);
  const transport::KeyPair made = transport::KeyPair::generate();
  WATTLE_CHECK(made.save(key_file));
  return made.public_key;
}

Result<transport::ServerKeys> enrol_once(const EnrolConfig& config, const std::string& node,
                                         const std::string& public_key) {
  WATTLE_TRY(std::string token, http::load_token(config.token_file));
  http::Origin origin{config.host, config.port, std::nullopt};
  if (config.tls) origin.tls = http::Trust{config.ca_file, {}, {}};
  http::Client client(std::move(origin), kMaxAnswer);
  client.bearer(std::move(token));
  WATTLE_TRY(const auto enrolled, http::enrol(client, config.url, config.path, public_key, node));
  const std::vector<std::string>& keys = enrolled.server_keys;
  if (!std::all_of(keys.begin(), keys.end(), transport::is_public_key))
    return fail(Errc::malformed, config.url, "the answer is not that of a Wattle controller", "check the address");
  if (enrolled.node != node)
    return fail(Errc::conflict, config.url,
                "the controller enrolled this agent as node " + enrolled.node + " instead of " + node,
                "use a separate token for this node, or set `node: " + enrolled.node + "`");
  return transport::ServerKeys{keys[0], keys.size() > 1 ? keys[1] : std::string()};
}

Enroller::Enroller(EnrolConfig config, std::string node, std::string public_key, std::string server_key_file,
                   const Clock& clock, const Log& log)
    : config_(std::move(config)),
      node_(std::move(node)),
      public_key_(std::move(public_key)),
      server_key_file_(std::move(server_key_file)),
      clock_(clock),
      log_(log),
      random_(std::hash<std::string>{}(node_)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

void Enroller::ask() {
  {
    const std::lock_guard lock(mutex_);
    asked_ = true;
  }
  wake_.notify_all();
}

Status Enroller::try_once() {
  WATTLE_TRY(const auto keys, enrol_once(config_, node_, public_key_));
  return write_file_atomically(server_key_file_, keys.current + "\n" + (keys.next.empty() ? "" : keys.next + "\n"));
}

void Enroller::run(const std::stop_token& stop) {
  LogThrottle throttle(std::chrono::seconds(60), 16);
  Duration span = kFirstPause;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      if (!wake_.wait(lock, stop, [this] { return asked_; })) return;
    }
    const Status tried = try_once();
    if (tried) {
      log_.info("enrol.done", "the controller has enrolled this node",
                {{"node", node_}, {"key", public_key_}, {"url", config_.url}});
      ++done_;
      span = kFirstPause;
      if (stopped_within(stop, kQuiet)) return;
      const std::lock_guard lock(mutex_);
      asked_ = false;  // requests during the attempt are answered by it
      continue;
    }
    if (throttle.note(tried.error().message(), clock_.mono()))
      log_.warn("enrol.failed", "the enrolment failed; the agent retries",
                {{"node", node_}, {"key", public_key_}, {"error", tried.error()}});
    std::uniform_real_distribution<double> jitter(0.5, 1.0);
    if (stopped_within(stop, from_seconds(wattle::seconds(span) * jitter(random_)))) return;
    const bool unanswered = tried.error().code == Errc::unavailable || tried.error().code == Errc::timeout;
    span = std::min(2 * span, unanswered ? kLongestUnanswered : kLongestPause);
  }
}

}  // namespace wattle::agent
