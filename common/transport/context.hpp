// context: what Context keeps behind its pointer; private to this folder.
// Threads  allowed() and next_id() from any
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "common/transport/sockets.hpp"
#include "common/transport/zmq_handle.hpp"

namespace wattle::transport {

inline constexpr std::string_view kZapDomain = "wattle";
// ZAP metadata that tells a connection's key, so that a key taken off the list is not heard any more.
inline constexpr const char* kKeyProperty = "X-Wattle-Key";

struct Context::Impl {
  Impl();
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void serve(AllowList list, const Log& log_to);
  void set_allow_list(AllowList list);
  // Whom the list names for the key now; null: nobody.
  std::shared_ptr<const Identity> allowed(std::string_view public_key) const;
  std::uint64_t next_id() { return next_id_.fetch_add(1); }
  void* zmq() const { return zmq_; }
  std::uint64_t refused() const { return refused_.load(); }

 private:
  void answer_until_stopped(Handle requests, Handle stop);
  void answer(void* requests);
  void refuse(const std::string& public_key, std::string_view address);

  void* zmq_ = nullptr;
  std::atomic<std::uint64_t> next_id_{0};
  std::atomic<std::uint64_t> refused_{0};
  mutable std::mutex mutex_;
  std::shared_ptr<const AllowList> allow_;
  const Log* log_ = nullptr;
  Handle stop_;
  std::thread zap_;
  std::map<std::string, std::uint64_t> refusals_;  // the ZAP thread's own
};

}  // namespace wattle::transport
