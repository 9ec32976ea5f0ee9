// enrol: asks the controller to allow this agent's key, over HTTPS, with a token from a file.
// Source   docs/reference/api.md, "Enrolment"; reads the token for each attempt, so that a projected one may be renewed
// Gives    the controller's public keys, written to `server_key_file`
// Errors   not_found and denied (token, authority), unavailable and timeout (no answer), denied and conflict (refused
//          by the controller, with a fix). An Enroller logs each at most once a minute and retries: after 1 s, then
//          at intervals up to half a minute without an answer, and up to five minutes after a refusal
// Threads  enrol_once() blocks for up to several seconds; an Enroller has its own thread, and its functions have a
//          single caller
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <random>
#include <string>
#include <thread>

#include "agent/config.hpp"
#include "common/clock.hpp"
#include "common/log.hpp"
#include "common/result.hpp"
#include "common/transport/keys.hpp"

namespace wattle::agent {

// Returns this agent's public key; creates the key pair if it is missing.
Result<std::string> own_public_key(const std::string& key_file);
Result<transport::ServerKeys> enrol_once(const EnrolConfig& config, const std::string& node,
                                         const std::string& public_key);

class Enroller {
 public:
  Enroller(EnrolConfig config, std::string node, std::string public_key, std::string server_key_file,
           const Clock& clock, const Log& log);
  Enroller(const Enroller&) = delete;
  Enroller& operator=(const Enroller&) = delete;
  // Requests an enrolment, because the controller does not know the key. Ignored during an attempt, and for a while
  // after a success.
  void ask();
  // Number of successful enrolments.
  std::uint64_t done() const { return done_; }

 private:
  void run(const std::stop_token& stop);
  Status try_once();

  const EnrolConfig config_;
  const std::string node_, public_key_, server_key_file_;
  const Clock& clock_;
  const Log& log_;
  std::mt19937_64 random_;
  std::atomic<std::uint64_t> done_{0};
  std::mutex mutex_;
  std::condition_variable_any wake_;
  bool asked_ = false;
  std::jthread thread_;
};

}  // namespace wattle::agent
