// server: the bound sockets, Server (ROUTER) and Publisher (XPUB).
#include <algorithm>
#include <cerrno>
#include <set>

#include "common/transport/context.hpp"
#include "common/transport/sockets.hpp"
#include "common/transport/watch.hpp"
#include "common/wire/codec.hpp"

namespace wattle::transport {

namespace {
// ZMQ_ZAP_ENFORCE_DOMAIN: libzmq 4.3 has it, zmq.h declares it only among the draft options. Without it a server
// whose context does not answer ZAP would let everybody in.
constexpr int kZapEnforceDomain = 93;

// Per key and socket, both ways: an answer may have 64 MiB and goes out as long as no more than this waits before it.
constexpr std::int64_t kUnreadBytesMax = 32 << 20;
// What is not taken from us yet; more waits in the sender's kernel.
constexpr int kQueueIn = 16;
// A subscription is a topic and few bytes around it; the handshake takes some 330.
constexpr std::int64_t kFeedMessageBytesMax = 512;
constexpr int kWatchEvery = 64;

// Of one key. An agent has one, and another while an old one is not known to be dead; shims have one per thread (64 at
// most) and share a key.
int connections_max(Channel channel) {
  switch (channel) {
    case Channel::telemetry:
      return 8;
    case Channel::feed:
      return 32;
    default:
      return 256;
  }
}

std::string refusal_of_revoked(const std::string& key) {
  return wire::encode(wire::Refusal{"key " + key, "is not on the controller's allow list any more",
                                    "if it should be: wattle keys allow KEY ROLE NAME"});
}

// What agents send is deciphered on a thread of libzmq of its own: an ask that came behind a hundred samples would wait for them.
Status bind_apart(const Handle& handle, const ServerOptions& options) {
  constexpr std::int64_t kFirst = 1, kSecond = 2, kAny = 0;
  WATTLE_CHECK(
      set_options(handle, {{ZMQ_AFFINITY, "affinity", options.channel == Channel::telemetry ? kFirst : kSecond}}));
  if (zmq_bind(handle.get(), options.endpoint.c_str()) == 0) return {};
  // A socket that was opened before serve() has started the one thread that there is.
  if (zmq_errno() == EMTHREAD) WATTLE_CHECK(set_options(handle, {{ZMQ_AFFINITY, "affinity", kAny}}));
  return bind_to(handle, options.endpoint);
}

Result<Handle> open_server(Context::Impl& context, const ServerOptions& options, int type) {
  WATTLE_TRY(Handle handle, Handle::open_(context.zmq(), type));
  WATTLE_CHECK(set_common_options(handle, options.endpoint, options.max_message_bytes, options.queue));
  WATTLE_CHECK(set_options(
      handle,
      {
          {ZMQ_BACKLOG, "backlog", options.backlog},
          {ZMQ_SNDHWM, "answers queue", options.answers_queue},
          // Clients beat, and say how long their silence may last: a server that beats too keeps a timer for each of
          // its peers, among which libzmq searches one by one. The kernel finds those that do not beat.
          {ZMQ_HEARTBEAT_IVL, "heartbeat interval", 0},
          {ZMQ_TCP_KEEPALIVE, "TCP keepalive", 1},
          {ZMQ_TCP_KEEPALIVE_IDLE, "TCP keepalive idle", 30},
          {ZMQ_TCP_KEEPALIVE_INTVL, "TCP keepalive interval", 10},
          {ZMQ_TCP_KEEPALIVE_CNT, "TCP keepalive count", 3},
          {ZMQ_CURVE_SERVER, "CURVE server", 1},
          {ZMQ_CURVE_SECRETKEY, "secret key", options.key.secret_key},
          {ZMQ_ZAP_DOMAIN, "ZAP domain", std::string(kZapDomain) + std::string(to_string(options.channel))},
          {kZapEnforceDomain, "ZAP domain enforced", 1},
          {ZMQ_RCVHWM, "queue in", std::min(options.queue, kQueueIn)},
          {ZMQ_WATTLE_USER_BYTES_MAX, "unread bytes of a key", kUnreadBytesMax},
          {ZMQ_WATTLE_USER_PEERS_MAX, "connections of a key", connections_max(options.channel)},
      }));
  return handle;
}
}  // namespace

struct Server::Impl {
  Context::Impl& context;
  Channel channel;
  Handle socket;
  Watch watch;  // goes before the socket
  std::string endpoint;
  int until_watch = 0;
};

Result<Server> Server::bind(Context& context, const ServerOptions& options) {
  WATTLE_TRY(Handle handle, open_server(context.impl(), options, ZMQ_ROUTER));
  WATTLE_CHECK(set_options(handle, {{ZMQ_ROUTER_MANDATORY, "router mandatory", 1}}));
  WATTLE_TRY(Watch watch, Watch::open_(context.impl(), handle, options.channel));
  WATTLE_CHECK(bind_apart(handle, options));
  const std::string endpoint = last_endpoint(handle);
  return Server(
      std::unique_ptr<Impl>(new Impl{context.impl(), options.channel, std::move(handle), std::move(watch), endpoint}));
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::Server(Server&&) noexcept = default;
Server& Server::operator=(Server&&) noexcept = default;
Server::~Server() = default;

std::optional<Incoming> Server::receive() {
  void* socket = impl_->socket.get();
  for (;;) {
    // Also when there is never nothing to receive.
    if (--impl_->until_watch < 0) {
      impl_->until_watch = kWatchEvery;
      impl_->watch.read();
      impl_->watch.end_revoked();
    }
    Frame route;
    if (!route.receive(socket)) {
      impl_->watch.read();
      impl_->watch.end_revoked();
      return std::nullopt;
    }
    if (!route.more()) continue;
    Frame body;
    if (!body.receive(socket)) return std::nullopt;
    if (body.more()) {  // ours have one frame
      skip_rest(socket, body);
      continue;
    }
    // ZAP is asked once, at the handshake; a key taken off the list since then, or given to another, is not heard.
    std::string key(body.property(kKeyProperty));
    const auto identity = impl_->context.allowed(key);
    if (!identity || identity->user_id() != body.property(kIdentityProperty)) {
      const auto before = Identity::from_user_id(body.property(kIdentityProperty));
      impl_->context.refuse_key(impl_->channel, Refused::revoked_key, key, before ? &*before : nullptr,
                                body.property("Peer-Address"));
      send(std::string(route.bytes()), refusal_of_revoked(key));
      continue;
    }
    return Incoming{std::string(route.bytes()), *identity, std::string(body.bytes()), std::move(key)};
  }
}

Sent Server::send(const std::string& route, std::string_view bytes) {
  if (send_frame(impl_->socket.get(), route, true) && send_frame(impl_->socket.get(), bytes, false)) return Sent::yes;
  return zmq_errno() == EAGAIN ? Sent::full : Sent::gone;
}

const std::string& Server::endpoint() const { return impl_->endpoint; }
void* Server::native() const { return impl_->socket.get(); }

struct Publisher::Impl {
  Context::Impl& context;
  Handle socket;
  Watch watch;  // goes before the socket
  std::string endpoint;
  std::set<std::string, std::less<>> subscriptions;
};

Result<Publisher> Publisher::bind(Context& context, const ServerOptions& asked) {
  ServerOptions options = asked;
  options.channel = Channel::feed;
  options.max_message_bytes = kFeedMessageBytesMax;
  WATTLE_TRY(Handle handle, open_server(context.impl(), options, ZMQ_XPUB));
  // Verbose: a second subscriber to a topic is told too, so that it can be given what it missed.
  WATTLE_CHECK(set_options(handle, {{ZMQ_XPUB_VERBOSE, "XPUB verbose", 1},
                                    {ZMQ_WATTLE_TOPIC, "topic", std::string(kTopicBoard)},
                                    {ZMQ_WATTLE_TOPIC, "topic", std::string(kTopicState)},
                                    {ZMQ_WATTLE_TOPIC, "topic", std::string(kTopicDecision)}}));
  WATTLE_TRY(Watch watch, Watch::open_(context.impl(), handle, options.channel));
  WATTLE_CHECK(bind_apart(handle, options));
  const std::string endpoint = last_endpoint(handle);
  return Publisher(std::unique_ptr<Impl>(new Impl{context.impl(), std::move(handle), std::move(watch), endpoint, {}}));
}

Publisher::Publisher(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Publisher::Publisher(Publisher&&) noexcept = default;
Publisher& Publisher::operator=(Publisher&&) noexcept = default;
Publisher::~Publisher() = default;

void Publisher::publish(std::string_view topic, std::string_view bytes) {
  if (send_frame(impl_->socket.get(), topic, true)) send_frame(impl_->socket.get(), bytes, false);
}

bool Publisher::drain() {
  bool subscribed = false;
  for (;;) {
    Frame frame;
    if (!frame.receive(impl_->socket.get())) {
      impl_->watch.read();
      impl_->watch.end_revoked();
      return subscribed;
    }
    if (frame.bytes().empty()) continue;
    const std::string topic(frame.bytes().substr(1));
    if (frame.bytes().front() != '\x01') {
      impl_->subscriptions.erase(topic);  // told when the last one leaves
      continue;
    }
    impl_->subscriptions.insert(topic);
    subscribed = true;
  }
}

bool Publisher::wanted(std::string_view topic) const { return impl_->subscriptions.contains(topic); }

const std::string& Publisher::endpoint() const { return impl_->endpoint; }
void* Publisher::native() const { return impl_->socket.get(); }

}  // namespace wattle::transport
