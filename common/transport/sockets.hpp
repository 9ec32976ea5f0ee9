// sockets: Wattle's four kinds of ZeroMQ sockets, all under CURVE, with safe options.
// Source   cppzmq over libzmq 4.3 with cmake/zeromq/limits.patch; ZeroMQ's only home is this folder
// Errors   conflict (address in use), malformed (endpoint), unavailable (peer not there or its queue full), denied
// Threads  each socket belongs to one thread; Context may be shared
//
// Nothing here blocks unless a timeout says so. No routing ids are set: a peer is who its key is (ZAP User-Id).
// What one key may hold of a server (parts of a message, messages that are not read, connections, subscriptions) is
// bounded; whoever goes beyond is counted and loses the connection. A revoked key loses its connections within seconds.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/log.hpp"
#include "common/result.hpp"
#include "common/transport/keys.hpp"
#include "common/transport/rights.hpp"

namespace wattle::transport {

// A key that the allow list no longer gives to the same name and role.
struct Revoked {
  std::string public_key;
  Identity identity;  // as it was
};

// One I/O context; with serve() it also answers ZAP requests on a thread of its own. Outlives its sockets.
class Context {
 public:
  Context();
  Context(Context&&) noexcept;
  ~Context();
  // Starts asking `allow` at each handshake; a key that is not there, or may do nothing with that socket, is refused,
  // counted and logged, once a minute per key. Call before binding. `allow` may be replaced at any time with
  // set_allow_list (thread safe), which tells who has lost what they had.
  void serve(AllowList allow, const Log& log);
  std::vector<Revoked> set_allow_list(AllowList allow);
  // Everything that its servers refused; whoever refuses a message of theirs adds to it.
  RefusalCounts& refusals() const;
  std::uint64_t refused_handshakes() const;  // those for their key

  struct Impl;
  Impl& impl() const { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

// What poll() waits on.
class Socket {
 public:
  virtual ~Socket() = default;
  virtual void* native() const = 0;
};

// Waits until a socket (or descriptor) is readable or the timeout is over. One flag per socket, then one per
// descriptor. A signal ends the wait early, with nothing flagged.
std::vector<bool> poll(std::span<const Socket* const> sockets, std::span<const int> fds,
                       std::chrono::milliseconds timeout);

struct Incoming {
  std::string route;  // to answer to; valid while the peer is connected
  Identity identity;
  std::string bytes;
  std::string key;  // public, that the identity belongs to
};

enum class Sent : std::uint8_t { yes, full, gone };  // full: the peer has not read what was sent before

struct ServerOptions {
  // "tcp://127.0.0.1:7460"; port 0 picks one. "tcp://*:7460" is every address of both families
  std::string endpoint;
  KeyPair key;
  Channel channel = Channel::ask;  // a Publisher's is the feed
  std::int64_t max_message_bytes = 1 << 20;
  int queue = 1000;          // messages kept for a connection that were not read here
  int answers_queue = 1000;  // and there, before send() says full
  int backlog = 8192;
  // No connection is accepted with this descriptor or a higher one, so that some are left for other uses; 0: no limit.
  int descriptors_below = 0;
};

// ROUTER: many clients, each with an identity. Who speaks with a key that has been revoked gets a Refusal and is not
// heard.
class Server final : public Socket {
 public:
  static Result<Server> bind(Context& context, const ServerOptions& options);
  Server(Server&&) noexcept;
  Server& operator=(Server&&) noexcept;
  ~Server() override;
  std::optional<Incoming> receive();  // nothing waiting: nullopt
  Sent send(const std::string& route, std::string_view bytes);
  const std::string& endpoint() const;  // with the real port
  void* native() const override;

 private:
  struct Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

struct ClientOptions {
  std::string endpoint;
  KeyPair key;
  std::string server_key;       // public, Z85
  std::string next_server_key;  // tried in turn with the other after a handshake that breaks off; empty: none
  std::string server_key_file;  // where both come from, read again at rebuild(); empty: nowhere
  // Sets the three from a file.
  Status read_server_keys(const std::string& path);
  std::int64_t max_message_bytes = 64 << 20;
  int queue = 1000;
  std::chrono::milliseconds reconnect_max{32'000};  // longest pause between two attempts
};

enum class Link { connecting, up, refused };  // refused: wrong key on either side; rebuild() is the way on

// DEALER: one server. Reconnects by itself with backoff to 32 s; sends only on a live link (IMMEDIATE).
class Client final : public Socket {
 public:
  static Result<Client> connect(Context& context, const ClientOptions& options);
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  ~Client() override;
  Status send(std::string_view bytes);   // unavailable: no link, or the queue is full
  std::optional<std::string> receive();  // nothing waiting: nullopt
  std::optional<std::string> receive(std::chrono::milliseconds timeout);
  // Until a message waits, or one may be sent; false: time is over, or the link has changed.
  bool wait_readable(std::chrono::milliseconds timeout);
  bool wait_writable(std::chrono::milliseconds timeout);
  Link link();                       // from the socket's monitor
  std::string link_problem() const;  // why it is refused or still connecting; empty when up
  std::uint64_t times_up();          // links so far; after a change what was sent before may be lost
  Status rebuild();                  // a new socket; what was queued is lost
  void* native() const override;

 private:
  struct Impl;
  explicit Client(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// XPUB: the feed. Its topics are those below, and no others are subscribed to; a subscriber with a full queue loses messages and must ask for a snapshot.
class Publisher final : public Socket {
 public:
  static Result<Publisher> bind(Context& context, const ServerOptions& options);
  Publisher(Publisher&&) noexcept;
  Publisher& operator=(Publisher&&) noexcept;
  ~Publisher() override;
  void publish(std::string_view topic, std::string_view bytes);
  // Reads subscription messages so that they do not pile up; true if somebody newly subscribed.
  bool drain();
  // Somebody subscribes to it, as far as drain() has read: what nobody hears need not be made.
  bool wanted(std::string_view topic) const;
  const std::string& endpoint() const;
  void* native() const override;

 private:
  struct Impl;
  explicit Publisher(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

struct Published {
  std::string topic;
  std::string bytes;
};

// SUB
class Subscriber final : public Socket {
 public:
  static Result<Subscriber> connect(Context& context, const ClientOptions& options,
                                    std::span<const std::string> topics);
  Subscriber(Subscriber&&) noexcept;
  Subscriber& operator=(Subscriber&&) noexcept;
  ~Subscriber() override;
  std::optional<Published> receive();
  std::optional<Published> receive(std::chrono::milliseconds timeout);
  Link link();  // as Client's
  std::string link_problem() const;
  std::uint64_t times_up();  // after a change ask for a snapshot
  Status rebuild();
  void* native() const override;

 private:
  struct Impl;
  explicit Subscriber(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Topics of the feed.
inline constexpr std::string_view kTopicBoard = "board";        // wire::Board
inline constexpr std::string_view kTopicState = "state";        // wire::StateChange
inline constexpr std::string_view kTopicDecision = "decision";  // wire::Decision

}  // namespace wattle::transport
