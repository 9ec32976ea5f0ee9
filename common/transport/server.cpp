// server: the bound sockets, Server (ROUTER) and Publisher (XPUB).
#include <algorithm>
#include <set>
#include <unordered_map>

#include "common/net_address.hpp"
#include "common/transport/context.hpp"
#include "common/transport/sockets.hpp"
#include "common/transport/watch.hpp"
#include "common/wire/codec.hpp"

namespace wattle::transport {

namespace {
// Unread bytes per key and socket, in each direction. An answer of up to 64 MiB is sent if at most this much waits
// before it.
constexpr std::int64_t kUnreadBytesMax = 32 << 20;
// Received messages that wait in libzmq; more wait in the sender's kernel.
constexpr int kQueueIn = 16;
// A subscription is a topic and a few bytes; the handshake takes about 330.
constexpr std::int64_t kFeedMessageBytesMax = 512;
constexpr int kWatchEvery = 64;
constexpr std::size_t kMostSenders = 20'000;  // remembered connections

// Connections per key. An agent has one, and a second while the server has not noticed that the old one is dead. Shims
// have one per thread (at most 64) and share a key.
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
  return wire::encode(wire::Refusal{"key " + key, "is no longer allowed by the controller",
                                    "with --context, run the command again; otherwise run `wattle keys allow`"});
}

// Binds both families if the endpoint names neither: `*`, `[::]`, and an interface without an IPv4 address.
Status bind_to(zmq::socket_t& socket, const std::string& endpoint) {
  const auto try_to = [&](bool ipv6, const std::string& to) -> Status {
    WATTLE_CHECK(set_options(socket, Setting(zmq::sockopt::ipv6, "ipv6", ipv6)));
    return guarded(endpoint, [&] { socket.bind(to); });
  };
  const auto at = parse_tcp_endpoint(endpoint);
  if (at && (at->host == "*" || at->host == "::")) {
    // Binds only IPv4 if the kernel has no IPv6.
    return try_to(true, "tcp://*:" + (at->port == 0 ? "*" : std::to_string(at->port)));
  }
  const bool brackets = endpoint.find('[') != std::string::npos;
  const Status bound = try_to(brackets, endpoint);
  if (bound || brackets || !at || numeric_address(at->host, at->port)) return bound;
  return try_to(true, endpoint) ? Status{} : bound;
}

// Uses a separate libzmq thread for the agents' messages, so that an ask does not wait behind the decryption of
// samples.
Status bind_apart(zmq::socket_t& socket, const ServerOptions& options) {
  constexpr std::uint64_t kFirst = 1, kSecond = 2, kAny = 0;
  const auto affinity = [&](std::uint64_t threads) {
    return set_options(socket, Setting(zmq::sockopt::affinity, "affinity", threads));
  };
  WATTLE_CHECK(affinity(options.channel == Channel::telemetry ? kFirst : kSecond));
  if (bind_to(socket, options.endpoint)) return {};
  // If a socket was opened before serve(), there may be only one thread.
  WATTLE_CHECK(affinity(kAny));
  return bind_to(socket, options.endpoint);
}

Result<zmq::socket_t> open_server(Context::Impl& context, const ServerOptions& options, zmq::socket_type type) {
  WATTLE_TRY(zmq::socket_t socket, open_socket(context.zmq(), type));
  WATTLE_CHECK(set_common_options(socket, options.max_message_bytes, options.queue));
  WATTLE_CHECK(set_options(
      socket,  //
      Setting(zmq::sockopt::backlog, "backlog", options.backlog),
      Setting(zmq::sockopt::sndhwm, "answers queue", options.answers_queue),
      // Clients send heartbeats and announce how long they may be silent. A server that sends them too would keep a
      // timer per peer, which libzmq searches linearly. TCP keepalive finds peers without heartbeats.
      Setting(zmq::sockopt::heartbeat_ivl, "heartbeat interval", 0),
      Setting(zmq::sockopt::tcp_keepalive, "TCP keepalive", 1),
      Setting(zmq::sockopt::tcp_keepalive_idle, "TCP keepalive idle", 30),
      Setting(zmq::sockopt::tcp_keepalive_intvl, "TCP keepalive interval", 10),
      Setting(zmq::sockopt::tcp_keepalive_cnt, "TCP keepalive count", 3),
      Setting(zmq::sockopt::curve_server, "CURVE server", true),
      Setting(zmq::sockopt::curve_secretkey, "secret key", options.key.secret_key),
      Setting(zmq::sockopt::zap_domain, "ZAP domain",
              std::string(kZapDomain) + std::string(to_string(options.channel))),
      Setting(option::zap_enforce_domain, "ZAP domain enforced", 1),
      Setting(zmq::sockopt::rcvhwm, "queue in", std::min(options.queue, kQueueIn)),
      Setting(option::user_bytes_max, "unread bytes of a key", kUnreadBytesMax),
      Setting(option::user_peers_max, "connections of a key", connections_max(options.channel)),
      Setting(option::fd_max, "descriptors", options.descriptors_below)));
  return socket;
}
}  // namespace

struct Server::Impl {
  struct Sender {
    std::string key;
    std::shared_ptr<const Identity> identity;
  };
  // Null if the connection's key was removed from the list or reassigned since the handshake, at which ZAP checked it.
  const Sender* sender(const std::string& route, const zmq::message_t& body);

  Context::Impl& context;
  Channel channel;
  zmq::socket_t socket;
  Watch watch;  // destroyed before the socket
  std::string endpoint;
  int until_watch = 0;
  std::unordered_map<std::string, Sender> senders;  // by route; allowed by the list of list_edition
  std::uint64_t list_edition = 0;
};

const Server::Impl::Sender* Server::Impl::sender(const std::string& route, const zmq::message_t& body) {
  const std::uint64_t edition = context.list_edition();
  if (edition != list_edition || senders.size() >= kMostSenders) senders.clear();
  list_edition = edition;
  if (const auto known = senders.find(route); known != senders.end()) return &known->second;
  std::string key(property(body, kKeyProperty));
  auto identity = context.allowed(key);
  if (!identity || identity->user_id() != property(body, kIdentityProperty)) return nullptr;
  return &senders.emplace(route, Sender{std::move(key), std::move(identity)}).first->second;
}

Result<Server> Server::bind(Context& context, const ServerOptions& options) {
  WATTLE_TRY(zmq::socket_t handle, open_server(context.impl(), options, zmq::socket_type::router));
  WATTLE_CHECK(set_options(handle, Setting(zmq::sockopt::router_mandatory, "router mandatory", true)));
  WATTLE_TRY(Watch watch, Watch::open_(context.impl(), handle, options.channel));
  WATTLE_CHECK(bind_apart(handle, options));
  const std::string endpoint = last_endpoint(handle);
  return Server(std::unique_ptr<Impl>(
      new Impl{context.impl(), options.channel, std::move(handle), std::move(watch), endpoint, 0, {}, 0}));
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::Server(Server&&) noexcept = default;
Server& Server::operator=(Server&&) noexcept = default;
Server::~Server() = default;

std::optional<Incoming> Server::receive() {
  zmq::socket_t& socket = impl_->socket;
  for (;;) {
    // Also runs under constant load, when receive() never comes back empty.
    if (--impl_->until_watch < 0) {
      impl_->until_watch = kWatchEvery;
      impl_->watch.read();
      impl_->watch.end_revoked();
    }
    zmq::message_t route, body;
    if (!transport::receive(socket, route)) {
      impl_->watch.read();
      impl_->watch.end_revoked();
      return std::nullopt;
    }
    if (!route.more()) continue;
    if (!transport::receive(socket, body)) return std::nullopt;
    if (body.more()) {  // our messages have one frame
      skip_rest(socket, body);
      continue;
    }
    std::string from = route.to_string();
    const Impl::Sender* sender = impl_->sender(from, body);
    if (sender == nullptr) {
      const std::string key(property(body, kKeyProperty));
      const auto before = Identity::from_user_id(property(body, kIdentityProperty));
      impl_->context.refuse_key(impl_->channel, Refused::revoked_key, key, before ? &*before : nullptr,
                                property(body, "Peer-Address"));
      send(from, refusal_of_revoked(key));
      continue;
    }
    return Incoming{std::move(from), *sender->identity, body.to_string(), sender->key};
  }
}

Sent Server::send(const std::string& route, std::string_view bytes) {
  const Sent addressed = transport::send(impl_->socket, route, true);
  return addressed == Sent::yes ? transport::send(impl_->socket, bytes, false) : addressed;
}

const std::string& Server::endpoint() const { return impl_->endpoint; }
void* Server::native() const { return impl_->socket.handle(); }

struct Publisher::Impl {
  Context::Impl& context;
  zmq::socket_t socket;
  Watch watch;  // destroyed before the socket
  std::string endpoint;
  std::set<std::string, std::less<>> subscriptions;
};

Result<Publisher> Publisher::bind(Context& context, const ServerOptions& asked) {
  ServerOptions options = asked;
  options.channel = Channel::feed;
  options.max_message_bytes = kFeedMessageBytesMax;
  WATTLE_TRY(zmq::socket_t handle, open_server(context.impl(), options, zmq::socket_type::xpub));
  // Verbose: also reports a second subscriber to a topic, so that it can get the missed messages.
  WATTLE_CHECK(set_options(handle,  //
                           Setting(zmq::sockopt::xpub_verbose, "XPUB verbose", true),
                           Setting(option::topic, "topic", std::string(kTopicBoard)),
                           Setting(option::topic, "topic", std::string(kTopicState)),
                           Setting(option::topic, "topic", std::string(kTopicDecision))));
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
  if (transport::send(impl_->socket, topic, true) == Sent::yes) transport::send(impl_->socket, bytes, false);
}

bool Publisher::drain() {
  bool subscribed = false;
  for (;;) {
    zmq::message_t frame;
    if (!transport::receive(impl_->socket, frame)) {
      impl_->watch.read();
      impl_->watch.end_revoked();
      return subscribed;
    }
    if (frame.to_string_view().empty()) continue;
    const std::string topic(frame.to_string_view().substr(1));
    if (frame.to_string_view().front() != '\x01') {
      impl_->subscriptions.erase(topic);  // reported when the last subscriber leaves
      continue;
    }
    impl_->subscriptions.insert(topic);
    subscribed = true;
  }
}

bool Publisher::wanted(std::string_view topic) const { return impl_->subscriptions.contains(topic); }

const std::string& Publisher::endpoint() const { return impl_->endpoint; }
void* Publisher::native() const { return impl_->socket.handle(); }

}  // namespace wattle::transport
