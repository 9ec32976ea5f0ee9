// sockets: Wattle's four kinds of ZeroMQ sockets, all with CURVE and safe options.
// Source   cppzmq over libzmq 4.3 with cmake/zeromq/limits.patch; only this folder uses ZeroMQ
// Errors   conflict (address in use), malformed (endpoint), unavailable (peer not there or its queue full), denied
// Threads  each socket belongs to one thread; Context may be shared
//
// Calls without a timeout do not block. No routing ids are set: a peer is identified by its key (ZAP User-Id).
// Resources that one key may hold in a server (message parts, unread messages, connections, subscriptions) are limited.
// A peer that exceeds a limit is counted and disconnected. A revoked key loses its connections within seconds.
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

#include "common/clock.hpp"
#include "common/log.hpp"
#include "common/result.hpp"
#include "common/transport/keys.hpp"
#include "common/transport/rights.hpp"

namespace wattle::transport {

// A key that the allow list no longer assigns to the same name and role.
struct Revoked {
  std::string public_key;
  Identity identity;  // former identity
};

// I/O context; after serve() it also answers ZAP requests on its own thread. Outlives its sockets.
class Context {
 public:
  Context();
  Context(Context&&) noexcept;
  ~Context();
  // Starts checking each handshake against `allow`. A key that is missing, or has no right on that socket, is refused,
  // counted and logged, once per minute and key. Call before binding. set_allow_list() replaces the list at any time
  // (thread safe) and returns the keys that have lost their rights.
  void serve(AllowList allow, const Log& log);
  std::vector<Revoked> set_allow_list(AllowList allow);
  // Admits a key that is not on the list as a reader, until end_guests() runs at or after `until`; renews an earlier
  // admission. conflict: the list has the key; exhausted: too many guests. Thread safe, like end_guests().
  Status admit_guest(const std::string& public_key, MonoTime until);
  void end_guests(MonoTime now);
  // Refusals by all its servers. Code that refuses a message adds to them.
  RefusalCounts& refusals() const;
  std::uint64_t refused_handshakes() const;  // refused because of their key

  struct Impl;
  Impl& impl() const { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

// A socket that poll() can wait for.
class Socket {
 public:
  virtual ~Socket() = default;
  virtual void* native() const = 0;
};

// Waits until a socket or descriptor is readable or the timeout expires. Returns one flag per socket, then one per
// descriptor. A signal ends the wait early, without flags.
std::vector<bool> poll(std::span<const Socket* const> sockets, std::span<const int> fds,
                       std::chrono::milliseconds timeout);

struct Incoming {
  std::string route;  // address for an answer; valid while the peer is connected
  Identity identity;
  std::string bytes;
  std::string key;  // public key of the identity
};

enum class Sent : std::uint8_t { yes, full, gone };  // full: the peer has not read earlier messages

struct ServerOptions {
  // "tcp://127.0.0.1:7460"; port 0 picks a free one. "tcp://*:7460" binds all addresses of both families.
  std::string endpoint;
  KeyPair key;
  Channel channel = Channel::ask;  // a Publisher always uses feed
  std::int64_t max_message_bytes = 1 << 20;
  int queue = 1000;          // unread messages kept per connection
  int answers_queue = 1000;  // unsent answers kept per connection before send() returns full
  int backlog = 8192;
  // Refuses connections with this descriptor or a higher one, to keep some for other uses; 0: no limit.
  int descriptors_below = 0;
};

// ROUTER: many clients, each with an identity. A client whose key was revoked gets a Refusal, and its messages are
// dropped.
class Server final : public Socket {
 public:
  static Result<Server> bind(Context& context, const ServerOptions& options);
  Server(Server&&) noexcept;
  Server& operator=(Server&&) noexcept;
  ~Server() override;
  std::optional<Incoming> receive();  // nullopt if none waits
  Sent send(const std::string& route, std::string_view bytes);
  const std::string& endpoint() const;  // has the actual port
  void* native() const override;

 private:
  struct Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

struct ClientOptions {
  std::string endpoint;
  KeyPair key;
  std::string server_key;       // public key in Z85
  std::string next_server_key;  // tried alternately after a failed handshake; empty: none
  std::string server_key_file;  // source of both keys, read again at rebuild(); empty: none
  // Sets the three fields from a file.
  Status read_server_keys(const std::string& path);
  std::int64_t max_message_bytes = 64 << 20;
  int queue = 1000;
  std::chrono::milliseconds reconnect_max{32'000};  // longest pause between two attempts
};

enum class Link { connecting, up, refused };  // refused: wrong key on either side; call rebuild()

// DEALER: one server. Reconnects by itself with backoff up to 32 s; sends only on a live link (IMMEDIATE).
class Client final : public Socket {
 public:
  static Result<Client> connect(Context& context, const ClientOptions& options);
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  ~Client() override;
  Status send(std::string_view bytes);   // unavailable: no link, or the queue is full
  std::optional<std::string> receive();  // nullopt if none waits
  std::optional<std::string> receive(std::chrono::milliseconds timeout);
  // Waits until a message can be received or sent; returns false on timeout or if the link changes.
  bool wait_readable(std::chrono::milliseconds timeout);
  bool wait_writable(std::chrono::milliseconds timeout);
  Link link();                       // state from the socket's monitor
  std::string link_problem() const;  // why it is refused or still connecting; empty when up
  std::uint64_t times_up();          // links so far; after a change, messages sent before may be lost
  Status rebuild();                  // opens a new socket; queued messages are lost
  void* native() const override;

 private:
  struct Impl;
  explicit Client(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// XPUB: the feed. Accepts subscriptions only to the topics below. A subscriber with a full queue loses messages and
// must ask for a snapshot.
class Publisher final : public Socket {
 public:
  static Result<Publisher> bind(Context& context, const ServerOptions& options);
  Publisher(Publisher&&) noexcept;
  Publisher& operator=(Publisher&&) noexcept;
  ~Publisher() override;
  void publish(std::string_view topic, std::string_view bytes);
  // Reads subscription messages so that they do not pile up; returns true if there is a new subscriber.
  bool drain();
  // Returns whether the topic has subscribers, as of the last drain(). Messages without subscribers need not be built.
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

// SUB: one subscriber of a feed.
class Subscriber final : public Socket {
 public:
  static Result<Subscriber> connect(Context& context, const ClientOptions& options,
                                    std::span<const std::string> topics);
  Subscriber(Subscriber&&) noexcept;
  Subscriber& operator=(Subscriber&&) noexcept;
  ~Subscriber() override;
  std::optional<Published> receive();
  std::optional<Published> receive(std::chrono::milliseconds timeout);
  Link link();  // like Client's
  std::string link_problem() const;
  std::uint64_t times_up();  // after a change, ask for a snapshot
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
