// server: the bound sockets, Server (ROUTER) and Publisher (XPUB).
#include "common/transport/context.hpp"
#include "common/transport/sockets.hpp"

namespace wattle::transport {

namespace {
// ZMQ_ZAP_ENFORCE_DOMAIN: libzmq 4.3 has it, zmq.h declares it only among the draft options. Without it a server
// whose context does not answer ZAP would let everybody in.
constexpr int kZapEnforceDomain = 93;

Result<Handle> open_bound(Context::Impl& context, const ServerOptions& options, int type) {
  WATTLE_TRY(Handle handle, Handle::open_(context.zmq(), type));
  WATTLE_CHECK(set_common_options(handle, options.endpoint, options.max_message_bytes, options.queue));
  WATTLE_CHECK(set_options(handle, {
                                       {ZMQ_BACKLOG, "backlog", options.backlog},
                                       {ZMQ_CURVE_SERVER, "CURVE server", 1},
                                       {ZMQ_CURVE_SECRETKEY, "secret key", options.key.secret_key},
                                       {ZMQ_ZAP_DOMAIN, "ZAP domain", std::string(kZapDomain)},
                                       {kZapEnforceDomain, "ZAP domain enforced", 1},
                                   }));
  return handle;
}
}  // namespace

struct Server::Impl {
  Context::Impl& context;
  Handle socket;
  std::string endpoint;
};

Result<Server> Server::bind(Context& context, const ServerOptions& options) {
  WATTLE_TRY(Handle handle, open_bound(context.impl(), options, ZMQ_ROUTER));
  WATTLE_CHECK(set_options(handle, {{ZMQ_ROUTER_MANDATORY, "router mandatory", 1}}));
  WATTLE_CHECK(bind_to(handle, options.endpoint));
  const std::string endpoint = last_endpoint(handle);
  return Server(std::unique_ptr<Impl>(new Impl{context.impl(), std::move(handle), endpoint}));
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::Server(Server&&) noexcept = default;
Server& Server::operator=(Server&&) noexcept = default;
Server::~Server() = default;

std::optional<Incoming> Server::receive() {
  void* socket = impl_->socket.get();
  for (;;) {
    Frame route;
    if (!route.receive(socket)) return std::nullopt;
    if (!route.more()) continue;
    Frame body;
    if (!body.receive(socket)) return std::nullopt;
    if (body.more()) {  // ours have one frame
      skip_rest(socket, body);
      continue;
    }
    // ZAP is asked once, at the handshake; a key taken off the list since then, or given to another, is not heard.
    const auto identity = impl_->context.allowed(body.property(kKeyProperty));
    if (!identity || identity->user_id() != body.property("User-Id")) continue;
    return Incoming{std::string(route.bytes()), *identity, std::string(body.bytes())};
  }
}

bool Server::send(const std::string& route, std::string_view bytes) {
  return send_frame(impl_->socket.get(), route, true) && send_frame(impl_->socket.get(), bytes, false);
}

const std::string& Server::endpoint() const { return impl_->endpoint; }
void* Server::native() const { return impl_->socket.get(); }

struct Publisher::Impl {
  Handle socket;
  std::string endpoint;
};

Result<Publisher> Publisher::bind(Context& context, const ServerOptions& options) {
  WATTLE_TRY(Handle handle, open_bound(context.impl(), options, ZMQ_XPUB));
  // Verbose: a second subscriber to a topic is told too, so that it can be given what it missed.
  WATTLE_CHECK(set_options(handle, {{ZMQ_XPUB_VERBOSE, "XPUB verbose", 1}}));
  WATTLE_CHECK(bind_to(handle, options.endpoint));
  const std::string endpoint = last_endpoint(handle);
  return Publisher(std::unique_ptr<Impl>(new Impl{std::move(handle), endpoint}));
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
    if (!frame.receive(impl_->socket.get())) return subscribed;
    subscribed = subscribed || frame.bytes().starts_with('\x01');
  }
}

const std::string& Publisher::endpoint() const { return impl_->endpoint; }
void* Publisher::native() const { return impl_->socket.get(); }

}  // namespace wattle::transport
