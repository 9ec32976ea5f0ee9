#include "common/transport/dial.hpp"

#include <cerrno>

#include "common/transport/watch.hpp"

namespace wattle::transport {

namespace {
constexpr int kReconnectMs = 250;  // and as much at random, so that not all of a fleet come in one instant
constexpr int kDialEvents = ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
                            ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH |
                            ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_CLOSED;
}  // namespace

Status ClientOptions::read_server_keys(const std::string& path) {
  WATTLE_TRY(ServerKeys keys, load_server_keys(path));
  server_key = std::move(keys.current);
  next_server_key = std::move(keys.next);
  server_key_file = path;
  return {};
}

Dial::Dial(Context::Impl& context, int type, ClientOptions options, std::vector<std::string> topics)
    : context_(&context), type_(type), options_(std::move(options)), topics_(std::move(topics)) {}

Dial& Dial::operator=(Dial&& other) noexcept {
  if (this == &other) return *this;
  close();
  context_ = other.context_;
  type_ = other.type_;
  options_ = std::move(other.options_);
  topics_ = std::move(other.topics_);
  monitor_ = std::move(other.monitor_);
  socket_ = std::move(other.socket_);
  link_ = other.link_;
  problem_ = std::move(other.problem_);
  times_up_ = other.times_up_;
  wrong_key_ = other.wrong_key_;
  tried_both_ = other.tried_both_;
  return *this;
}

Result<Dial> Dial::open_(Context::Impl& context, int type, ClientOptions options, std::vector<std::string> topics) {
  Dial dial(context, type, std::move(options), std::move(topics));
  WATTLE_CHECK(dial.build());
  return dial;
}

Status Dial::rebuild() {
  close();
  read_keys_again();
  tried_both_ = false;
  return build();
}

// Whoever rotates the server's keys writes the file of a client that runs. One that cannot be read now changes nothing.
void Dial::read_keys_again() {
  if (options_.server_key_file.empty()) return;
  auto keys = load_server_keys(options_.server_key_file);
  if (!keys) return;
  // The key that was tried last stays the first, if it is still one.
  if (keys->next == options_.server_key) std::swap(keys->current, keys->next);
  options_.server_key = std::move(keys->current);
  options_.next_server_key = std::move(keys->next);
}

void Dial::try_other_key() {
  tried_both_ = true;
  std::swap(options_.server_key, options_.next_server_key);
  close();
  if (const auto built = build(); !built) {
    link_ = Link::refused;
    problem_ = built.error().message();
  }
}

void Dial::close() {
  if (socket_.get() != nullptr) zmq_socket_monitor(socket_.get(), nullptr, 0);
  monitor_.close();
  socket_.close();
}

Status Dial::build() {
  link_ = Link::connecting;
  problem_.clear();
  wrong_key_ = false;
  WATTLE_TRY(Handle handle, Handle::open_(context_->zmq(), type_));
  WATTLE_CHECK(set_common_options(handle, options_.endpoint, options_.max_message_bytes, options_.queue));
  const int reconnect_max_ms = static_cast<int>(options_.reconnect_max.count());
  WATTLE_CHECK(set_options(handle, {
                                       // A subscriber sends nothing that could go to a dead link.
                                       {ZMQ_IMMEDIATE, "immediate", type_ == ZMQ_SUB ? 0 : 1},
                                       {ZMQ_RECONNECT_IVL, "reconnect interval", kReconnectMs},
                                       {ZMQ_RECONNECT_IVL_MAX, "reconnect_max", reconnect_max_ms},
                                       {ZMQ_CONNECT_TIMEOUT, "connect timeout", 5'000},
                                       {ZMQ_CURVE_SERVERKEY, "server's public key", options_.server_key},
                                       {ZMQ_CURVE_PUBLICKEY, "public key", options_.key.public_key},
                                       {ZMQ_CURVE_SECRETKEY, "secret key", options_.key.secret_key},
                                   }));
  for (const std::string& topic : topics_) WATTLE_CHECK(set_options(handle, {{ZMQ_SUBSCRIBE, "topic", topic}}));

  WATTLE_TRY(Handle monitor, open_monitor(*context_, handle, kDialEvents));
  WATTLE_CHECK(connect_to(handle, options_.endpoint));
  socket_ = std::move(handle);
  monitor_ = std::move(monitor);
  return {};
}

Link Dial::link() {
  read_monitor();
  return link_;
}

std::string Dial::problem() {
  read_monitor();
  return problem_;
}

std::uint64_t Dial::times_up() {
  read_monitor();
  return times_up_;
}

bool Dial::wait(short events, std::chrono::milliseconds timeout) {
  if (socket_.get() == nullptr) return false;
  return wait_for(socket_.get(), events, monitor_.get(), timeout);
}

void Dial::read_monitor() {
  std::uint16_t event = 0;
  std::uint32_t value = 0;
  std::string where;
  while (read_event(monitor_, event, value, where)) note(event, value);
  if (wrong_key_) try_other_key();
}

void Dial::note(std::uint16_t event, std::uint32_t value) {
  switch (event) {
    case ZMQ_EVENT_HANDSHAKE_SUCCEEDED:
      link_ = Link::up;
      problem_.clear();
      wrong_key_ = tried_both_ = false;
      ++times_up_;
      return;
    case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
      link_ = Link::refused;
      problem_ = options_.endpoint + " does not allow our key " + options_.key.public_key + " (status " +
                 std::to_string(value) + "; there: wattle keys allow KEY ROLE NAME)";
      return;
    case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL:
    case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
      if (event == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL && value == ETIMEDOUT) {
        problem_ = options_.endpoint + " does not finish the handshake in time";
        return;
      }
      link_ = Link::refused;
      wrong_key_ = !options_.next_server_key.empty() && !tried_both_;
      problem_ = options_.endpoint + " breaks off the handshake: its key is not " + options_.server_key +
                 (options_.next_server_key.empty() ? "" : " nor " + options_.next_server_key) +
                 ", or it is no Wattle server (compare with the server's public key)";
      return;
    case ZMQ_EVENT_DISCONNECTED:
      if (link_ == Link::refused) return;
      link_ = Link::connecting;
      problem_ = options_.endpoint + " has closed the connection";
      return;
    case ZMQ_EVENT_CLOSED:  // of an attempt to connect, after which libzmq tries again
      link_ = Link::connecting;
      problem_ = "nobody answers at " + options_.endpoint;
      return;
    default:
      return;
  }
}

}  // namespace wattle::transport
