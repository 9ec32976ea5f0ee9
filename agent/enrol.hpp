// enrol: has this agent's key allowed by the controller, over HTTPS, with a token from a file.
// Source   docs/reference/api.md, "Enrolment"; the token is read anew at each try, so that a projected one may be renewed
// Gives    the controller's public keys, written to `server_key_file`
// Errors   not_found and denied (token, authority), unavailable and timeout (nobody answers), denied and conflict (the controller refuses,
//          with its mend); an Enroller logs them, once a minute each, and tries again: after 1 s, then up to half a minute
//          where nobody answers, up to five minutes where the controller refuses
// Threads  enrol_once() blocks for seconds at most; an Enroller has a thread of its own, its functions are one owner's
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

// This agent's public key; its pair is made if it is not there.
Result<std::string> own_public_key(const std::string& key_file);
Result<transport::ServerKeys> enrol_once(const EnrolConfig& config, const std::string& node,
                                         const std::string& public_key);

class Enroller {
 public:
  Enroller(EnrolConfig config, std::string node, std::string public_key, std::string server_key_file,
           const Clock& clock, const Log& log);
  Enroller(const Enroller&) = delete;
  Enroller& operator=(const Enroller&) = delete;
  ~Enroller();
  // The controller does not know us. Nothing new while it is tried, and for a while after it was told that it does.
  void ask();
  // How often it was told that our key is allowed.
  std::uint64_t done() const { return done_; }

 private:
  void run();
  void pause(Duration span);
  Status try_once();

  const EnrolConfig config_;
  const std::string node_, public_key_, server_key_file_;
  const Clock& clock_;
  const Log& log_;
  std::mt19937_64 random_;
  std::atomic<std::uint64_t> done_{0};
  std::mutex mutex_;
  std::condition_variable wake_;
  bool asked_ = false, stop_ = false;
  std::thread thread_;
};

}  // namespace wattle::agent
