// enrolment: lets an agent that shows a token put its own public key on the allow list, over HTTPS.
// Source   POST {"public_key": "...", "node": "..."}, `node` for tokens of any node, with "Authorization: Bearer TOKEN"
// Gives    200 {"node", "server_keys": [current, next]}; 400 401 403 409 429 503 {"error"}
// Rules    a revoked key stays revoked; a key is one node's; a node that has another key keeps it, unless the token says that it may be
//          replaced; the list's other lines stay as they are; what is answered 200 is on disk
// Errors   each refusal is counted, and logged once a minute per reason; tokens are never logged
// Threads  any
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "common/clock.hpp"
#include "common/http/server.hpp"
#include "common/log.hpp"
#include "common/log_throttle.hpp"
#include "controller/enrol/reviewer.hpp"

namespace wattle::controller {

// A key, and a node name of at most 253 characters.
inline constexpr std::size_t kMostEnrolBytes = 512;

class EnrolCounts {
 public:
  void add(EnrolRefused why) { refused_[static_cast<std::size_t>(why)].fetch_add(1, std::memory_order_relaxed); }
  void add_enrolled() { enrolled_.fetch_add(1, std::memory_order_relaxed); }
  std::uint64_t get(EnrolRefused why) const {
    return refused_[static_cast<std::size_t>(why)].load(std::memory_order_relaxed);
  }
  std::uint64_t enrolled() const { return enrolled_.load(std::memory_order_relaxed); }

 private:
  std::array<std::atomic<std::uint64_t>, kEnrolRefusedNames.size()> refused_{};
  std::atomic<std::uint64_t> enrolled_{0};
};

// The list with the key allowed for the admission's node; the same text if it is already.
Reviewed<std::string> enrolled_list(const std::string& text, const std::string& key, const Admission& admission);

struct EnrolOptions {
  std::string allow_file;
  std::string key_file;    // this controller's; the public keys are told from FILE.pub, which has the next one too
  std::string public_key;  // of it
  double per_s = 50;       // requests that are looked at
  double burst = 200;
};

class Enrolment {
 public:
  Enrolment(EnrolOptions options, std::unique_ptr<Reviewer> reviewer, const Clock& clock, const Log& log);
  http::Response answer(const http::Request& request);
  const EnrolCounts& counts() const { return counts_; }

 private:
  Reviewed<std::string> enrol(const http::Request& request);
  Reviewed<Admission> admit(std::string_view token, const std::string& key, const std::string& wanted);
  Reviewed<void> allow(const std::string& key, const Admission& admission, bool write);
  bool take_turn();
  http::Response refuse(const EnrolRefusal& refusal);

  const EnrolOptions options_;
  const std::unique_ptr<Reviewer> reviewer_;
  const Clock& clock_;
  const Log& log_;
  EnrolCounts counts_;
  std::mutex edit_mutex_;  // one enrolment at a time
  std::mutex mutex_;       // of the rest
  double turns_;
  MonoTime turned_at_{};
  LogThrottle told_{std::chrono::seconds(60)};
};

}  // namespace wattle::controller
