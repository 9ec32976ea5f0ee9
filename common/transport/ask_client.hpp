// ask_client: requests and answers over the ask socket, for the shim and the CLI.
// Errors   timeout (no answer in time), unavailable (no link), denied (key refused), malformed (unexpected answer);
//          a Reply that is not ok becomes malformed with the controller's text
// Threads  AskClient: one at a time; AskPool: any
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "common/clock.hpp"
#include "common/transport/sockets.hpp"
#include "common/wire/messages.hpp"

namespace wattle::transport {

class AskClient {
 public:
  // Does not wait for the link; the first ask does, within its deadline.
  static Result<AskClient> connect(Context& context, ClientOptions options);
  // Sets request_id, and deadline_ms if it is 0. Fails at once if the link to the controller is known to be down.
  Result<wire::Suggestion> ask(wire::Ask ask, std::chrono::milliseconds deadline) { return lend(ask, deadline); }
  // The same without a copy: moves the ask away and back.
  Result<wire::Suggestion> lend(wire::Ask& ask, std::chrono::milliseconds deadline);
  // Makes queries fail at once if the first attempt to connect is refused, for interactive use. Queries still wait for
  // a link that was up once.
  void give_up_when_refused() { gives_up_ = true; }
  // Returns the Reply's JSON body. Waits for the link within the timeout.
  Result<std::string> query(std::string what, std::map<std::string, std::string> arguments,
                            std::chrono::milliseconds timeout);
  // Returns the current state of the feed, to which its later messages apply.
  Result<wire::Snapshot> snapshot(std::chrono::milliseconds timeout);
  Link link() { return client_.link(); }

 private:
  AskClient(Client client, std::string endpoint) : client_(std::move(client)), endpoint_(std::move(endpoint)) {}
  Result<wire::Message> exchange(const wire::Message& request, std::uint64_t request_id, bool wait_for_link,
                                 std::chrono::milliseconds timeout);
  Status become_writable(MonoTime until, bool wait_for_link);
  std::chrono::milliseconds left(MonoTime until) const;

  Client client_;
  std::string endpoint_;
  SystemClock clock_;  // for deadlines of real callers
  std::uint64_t last_id_ = 0;
  MonoTime rebuilt_at_{};
  bool gives_up_ = false;
};

// At most `size` clients, connected when first needed and each lent to one thread at a time.
class AskPool {
 public:
  AskPool(Context& context, ClientOptions options, std::size_t size);

  class Lease {
   public:
    Lease(Lease&& other) noexcept : pool_(other.pool_), client_(std::move(other.client_)) {}
    Lease& operator=(Lease&&) = delete;
    ~Lease();
    AskClient* operator->() { return client_.get(); }

   private:
    friend class AskPool;
    Lease(AskPool& pool, std::unique_ptr<AskClient> client) : pool_(&pool), client_(std::move(client)) {}
    AskPool* pool_;
    std::unique_ptr<AskClient> client_;
  };

  // Fails with exhausted if all clients are lent for longer than `wait`.
  Result<Lease> lend(std::chrono::milliseconds wait);
  // The deadline covers the wait for a client and for the answer. The ask is as AskClient::lend() leaves it.
  Result<wire::Suggestion> ask(wire::Ask& ask, std::chrono::milliseconds deadline);

 private:
  void give_back(std::unique_ptr<AskClient> client);

  Context& context_;
  const ClientOptions options_;
  const std::size_t size_;
  SystemClock clock_;
  std::mutex mutex_;
  std::condition_variable returned_;
  std::vector<std::unique_ptr<AskClient>> idle_;
  std::size_t made_ = 0;
};

}  // namespace wattle::transport
