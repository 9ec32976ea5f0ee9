// client: the connecting sockets, Client (DEALER) and Subscriber (SUB).
#include "common/transport/dial.hpp"
#include "common/transport/sockets.hpp"

namespace wattle::transport {

struct Client::Impl {
  Dial dial;
};

Result<Client> Client::connect(Context& context, const ClientOptions& options) {
  WATTLE_TRY(Dial dial, Dial::open_(context.impl(), zmq::socket_type::dealer, options, {}));
  return Client(std::unique_ptr<Impl>(new Impl{std::move(dial)}));
}

Client::Client(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;
Client::~Client() = default;

Status Client::send(std::string_view bytes) {
  if (transport::send(impl_->dial.socket(), bytes, false) == Sent::yes) return {};
  if (impl_->dial.link() == Link::up) return fail(Errc::unavailable, impl_->dial.endpoint(), "its queue is full");
  const std::string problem = impl_->dial.problem();
  return fail(impl_->dial.link() == Link::refused ? Errc::denied : Errc::unavailable, impl_->dial.endpoint(),
              problem.empty() ? "not connected yet" : problem);
}

std::optional<std::string> Client::receive() {
  for (;;) {
    zmq::message_t frame;
    if (!transport::receive(impl_->dial.socket(), frame)) return std::nullopt;
    if (!frame.more()) return frame.to_string();
    skip_rest(impl_->dial.socket(), frame);  // our messages have one frame
  }
}

std::optional<std::string> Client::receive(std::chrono::milliseconds timeout) {
  return impl_->dial.take_within(timeout, [this] { return receive(); });
}

bool Client::wait_readable(std::chrono::milliseconds timeout) { return impl_->dial.wait(ZMQ_POLLIN, timeout); }
bool Client::wait_writable(std::chrono::milliseconds timeout) { return impl_->dial.wait(ZMQ_POLLOUT, timeout); }
Link Client::link() { return impl_->dial.link(); }
std::string Client::link_problem() const { return impl_->dial.problem(); }
std::uint64_t Client::times_up() { return impl_->dial.times_up(); }
Status Client::rebuild() { return impl_->dial.rebuild(); }
void* Client::native() const { return impl_->dial.socket().handle(); }

struct Subscriber::Impl {
  Dial dial;
};

Result<Subscriber> Subscriber::connect(Context& context, const ClientOptions& options,
                                       std::span<const std::string> topics) {
  WATTLE_TRY(Dial dial, Dial::open_(context.impl(), zmq::socket_type::sub, options, {topics.begin(), topics.end()}));
  return Subscriber(std::unique_ptr<Impl>(new Impl{std::move(dial)}));
}

Subscriber::Subscriber(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Subscriber::Subscriber(Subscriber&&) noexcept = default;
Subscriber& Subscriber::operator=(Subscriber&&) noexcept = default;
Subscriber::~Subscriber() = default;

std::optional<Published> Subscriber::receive() {
  zmq::socket_t& socket = impl_->dial.socket();
  for (;;) {
    zmq::message_t topic, body;
    if (!transport::receive(socket, topic)) return std::nullopt;
    if (!topic.more()) continue;
    if (!transport::receive(socket, body)) return std::nullopt;
    if (!body.more()) return Published{topic.to_string(), body.to_string()};
    skip_rest(socket, body);  // our messages have two frames
  }
}

std::optional<Published> Subscriber::receive(std::chrono::milliseconds timeout) {
  return impl_->dial.take_within(timeout, [this] { return receive(); });
}

Link Subscriber::link() { return impl_->dial.link(); }
std::string Subscriber::link_problem() const { return impl_->dial.problem(); }
std::uint64_t Subscriber::times_up() { return impl_->dial.times_up(); }
Status Subscriber::rebuild() { return impl_->dial.rebuild(); }
void* Subscriber::native() const { return impl_->dial.socket().handle(); }

}  // namespace wattle::transport
