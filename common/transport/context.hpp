// context: implementation of Context; private to this folder.
// Threads  allowed(), next_id(), refusals() and refuse_*() from any
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "common/clock.hpp"
#include "common/log_throttle.hpp"
#include "common/transport/resolver.hpp"
#include "common/transport/sockets.hpp"
#include "common/transport/zmq_socket.hpp"

namespace wattle::transport {

// A ZAP domain is this prefix and the channel: "wattle.telemetry".
inline constexpr std::string_view kZapDomain = "wattle.";
// ZAP's User-Id is the public key of the connection: libzmq limits and ends connections by it, and messages of a
// removed key are refused.
inline constexpr const char* kKeyProperty = "User-Id";
// ZAP metadata: the identity that the list gave the key at the handshake.
inline constexpr const char* kIdentityProperty = "X-Wattle-Identity";

struct Context::Impl {
  Impl();
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void serve(AllowList list, const Log& log_to);
  std::vector<Revoked> set_allow_list(AllowList list);
  Status admit_guest(const std::string& public_key, MonoTime until);
  void end_guests(MonoTime now);
  // Identity that the list, or an admission as guest, gives the key now; null if it has none.
  std::shared_ptr<const Identity> allowed(std::string_view public_key) const;
  // Changes after each change of the list, and when a guest's admission ends.
  std::uint64_t list_edition() const { return list_edition_.load(std::memory_order_acquire); }
  std::uint64_t next_id() { return next_id_.fetch_add(1); }
  zmq::context_t& zmq() { return zmq_; }
  Resolver& resolver() { return resolver_; }
  RefusalCounts& refusals() { return refusals_; }
  // Counts the refusal, and logs once per minute and key.
  void refuse_key(Channel channel, Refused why, const std::string& public_key, const Identity* identity,
                  std::string_view address);
  void refuse_handshake(Channel channel, Refused why, const std::string& detail);
  // Returns the keys that lost their identity since the `seen`-th, and advances `seen`. Each caller must call within
  // an hour.
  std::vector<std::string> revoked_since(std::size_t& seen) const;

 private:
  struct Guest {
    std::shared_ptr<const Identity> identity;
    MonoTime until;
  };
  struct Ended {
    std::string key;
    MonoTime at;
  };

  void note_revoked(const std::string& key);  // under mutex_
  void answer_until_stopped(zmq::socket_t requests, zmq::socket_t stop);
  void answer(zmq::socket_t& requests);
  // Returns the number of events since the last log line if one is due now.
  std::optional<std::uint64_t> to_report(const std::string& peer);

  zmq::context_t zmq_;
  Resolver resolver_;
  std::atomic<std::uint64_t> next_id_{0};
  RefusalCounts refusals_;
  mutable std::mutex mutex_;
  std::shared_ptr<const AllowList> allow_;
  std::atomic<std::uint64_t> list_edition_{0};
  std::map<std::string, Guest, std::less<>> guests_;
  std::deque<Ended> revoked_;
  std::size_t forgotten_ = 0;  // entries that left the front of revoked_
  const Log* log_ = nullptr;
  zmq::socket_t stop_;
  std::thread zap_;
  std::mutex reported_mutex_;
  SystemClock clock_;  // for the log's interval and the age of revocations
  LogThrottle reported_{std::chrono::seconds(60)};
};

}  // namespace wattle::transport
