// enrolment: lets an agent with a valid token add its own public key to the allow list, over HTTPS.
// Source   POST {"public_key": "...", "node": "..."} with "Authorization: Bearer TOKEN"; `node` is for tokens that are
//          valid for any node
// Gives    200 {"node", "server_keys": [current, next]}; 400 401 403 409 429 503 {"error"}. A reader's token admits the
//          key for minutes, beside the list; the answer then has "valid_s" and an empty node
// Rules    a revoked key stays revoked; a key belongs to one node; a node keeps its existing key unless the token
//          permits a replacement; the other lines of the list do not change; a 200 means that the list is on disk
// Errors   each refusal is counted, and logged once a minute per reason; tokens are never logged
// Threads  any
#pragma once

#include <array>
#include <atomic>
#include <functional>
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

// Room for a key and a node name of at most 253 characters.
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

// Returns the list with the key allowed for the admission's node; the same text if the key is allowed already.
Reviewed<std::string> enrolled_list(const std::string& text, const std::string& key, const Admission& admission);

struct EnrolOptions {
  std::string allow_file;
  std::string key_file;    // this controller's; FILE.pub holds the public keys to return, the next one included
  std::string public_key;  // of key_file
  double per_s = 50;       // requests processed
  double burst = 200;
  // Lets a key that is not on the list read. Required if the reviewer admits readers.
  std::function<Status(const std::string& key, Duration valid)> admit_reader = {};
};

// Checks that this process can write a new file beside the file, as each enrolment does.
Status may_replace(const std::string& file);

class Enrolment {
 public:
  // `counts` must outlive this object.
  Enrolment(EnrolOptions options, std::unique_ptr<Reviewer> reviewer, EnrolCounts& counts, const Clock& clock,
            const Log& log);
  http::Response answer(const http::Request& request);

 private:
  Reviewed<std::string> enrol(const http::Request& request);
  Reviewed<Admission> admit(std::string_view token, const std::string& key, const std::string& wanted);
  Reviewed<Admission> admit_reader(const std::string& key, const Admission& admission);
  Reviewed<void> allow(const std::string& key, const Admission& admission, bool write);
  bool take_turn();
  http::Response refuse(const EnrolRefusal& refusal);

  const EnrolOptions options_;
  const std::unique_ptr<Reviewer> reviewer_;
  const Clock& clock_;
  const Log& log_;
  EnrolCounts& counts_;
  std::mutex edit_mutex_;  // one enrolment at a time
  std::mutex mutex_;       // guards the members below
  double turns_;
  MonoTime turned_at_{};
  LogThrottle reported_{std::chrono::seconds(60)};
};

}  // namespace wattle::controller
