#include "common/transport/dial.hpp"

#include <algorithm>
#include <cerrno>
#include <thread>
#include <utility>

#include "common/transport/watch.hpp"

namespace wattle::transport {

namespace {
constexpr int kConnectMs = 5'000;
constexpr int kConnectFirstMs = 1'000;  // if there is another address to try; doubles each round
constexpr int kRoundsMax = 16;          // rounds that lengthen the pause
constexpr int kReconnectMs = 250;       // plus a random part, so that a fleet does not reconnect all at once
constexpr int kDialEvents = ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
                            ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH |
                            ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_CLOSED;

int doubled(int first_ms, int times, int most_ms) {
  return static_cast<int>(std::min<std::int64_t>(std::int64_t{first_ms} << std::min(times, kRoundsMax), most_ms));
}

// Returns the host name to resolve; libzmq checks all other endpoints itself.
std::optional<HostPort> name_of(const std::string& endpoint) {
  auto name = parse_tcp_endpoint(endpoint);
  if (!name || numeric_address(name->host, name->port)) return std::nullopt;
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
           c == '_';
  };
  return std::ranges::all_of(name->host, fits) ? name : std::nullopt;
}
}  // namespace

Status ClientOptions::read_server_keys(const std::string& path) {
  WATTLE_TRY(ServerKeys keys, load_server_keys(path));
  server_key = std::move(keys.current);
  next_server_key = std::move(keys.next);
  server_key_file = path;
  return {};
}

Dial::Dial(Context::Impl& context, zmq::socket_type type, ClientOptions options, std::vector<std::string> topics)
    : context_(&context),
      type_(type),
      options_(std::move(options)),
      topics_(std::move(topics)),
      name_(name_of(options_.endpoint)) {}

Result<Dial> Dial::open_(Context::Impl& context, zmq::socket_type type, ClientOptions options,
                         std::vector<std::string> topics) {
  Dial dial(context, type, std::move(options), std::move(topics));
  WATTLE_CHECK(dial.build());
  dial.follow_name();
  return dial;
}

Status Dial::rebuild() {
  close();
  read_keys_again();
  tried_both_ = false;
  // Another server may use an address that the controller no longer has.
  if (addresses_.size() > 1) at_ = (at_ + 1) % addresses_.size();
  if (name_) context_->resolver().refresh(*name_);
  return build();
}

// Reads the keys again, because a rotation rewrites the file while clients run. Keeps the old keys if the file is
// unreadable.
void Dial::read_keys_again() {
  if (options_.server_key_file.empty()) return;
  auto keys = load_server_keys(options_.server_key_file);
  if (!keys) return;
  // The key that was tried last stays first if the file still has it.
  if (keys->next == options_.server_key) std::swap(keys->current, keys->next);
  options_.server_key = std::move(keys->current);
  options_.next_server_key = std::move(keys->next);
}

void Dial::try_other_key() {
  tried_both_ = true;
  std::swap(options_.server_key, options_.next_server_key);
  build_again();
}

void Dial::build_again() {
  close();
  std::string problem = std::exchange(problem_, {});
  if (const auto built = build(); !built) {
    link_ = Link::refused;
    problem = built.error().message();
  }
  problem_ = std::move(problem);
}

void Dial::close() {
  if (socket_) zmq_socket_monitor(socket_.handle(), nullptr, 0);
  monitor_.close();
  socket_.close();
}

Status Dial::build() {
  link_ = Link::connecting;
  problem_.clear();
  connected_to_.clear();
  wrong_key_ = next_address_ = false;
  WATTLE_TRY(zmq::socket_t socket, open_socket(context_->zmq(), type_));
  WATTLE_CHECK(set_common_options(socket, options_.max_message_bytes, options_.queue));
  WATTLE_CHECK(set_options(socket,  // A subscriber sends nothing that could go to a dead link.
                           Setting(zmq::sockopt::immediate, "immediate", type_ != zmq::socket_type::sub),
                           Setting(zmq::sockopt::curve_serverkey, "server's public key", options_.server_key),
                           Setting(zmq::sockopt::curve_publickey, "public key", options_.key.public_key),
                           Setting(zmq::sockopt::curve_secretkey, "secret key", options_.key.secret_key)));
  for (const std::string& topic : topics_)
    WATTLE_CHECK(set_options(socket, Setting(zmq::sockopt::subscribe, "topic", topic)));
  WATTLE_TRY(zmq::socket_t monitor, open_monitor(*context_, socket, kDialEvents));
  socket_ = std::move(socket);
  monitor_ = std::move(monitor);
  if (name_ && addresses_.empty()) return {};  // follow_name() connects
  const Status connected = connect();
  if (!connected) close();
  return connected;
}

Status Dial::connect() {
  const std::string to = name_ ? addresses_[at_].endpoint() : options_.endpoint;
  const bool others = name_ && addresses_.size() > 1;
  const int reconnect_max_ms = static_cast<int>(options_.reconnect_max.count());
  const int reconnect_ms = others ? doubled(kReconnectMs, rounds_, reconnect_max_ms) : kReconnectMs;
  WATTLE_CHECK(set_options(socket_, Setting(zmq::sockopt::ipv6, "ipv6", to.find('[') != std::string::npos),
                           Setting(zmq::sockopt::reconnect_ivl, "reconnect interval", reconnect_ms),
                           Setting(zmq::sockopt::reconnect_ivl_max, "reconnect_max", reconnect_max_ms),
                           Setting(zmq::sockopt::connect_timeout, "connect timeout",
                                   others ? doubled(kConnectFirstMs, rounds_, kConnectMs) : kConnectMs)));
  WATTLE_CHECK(guarded(to, [&] { socket_.connect(to); }));
  connected_to_ = to;
  return {};
}

// Uses a new answer of the resolver while there is no link.
void Dial::follow_name() {
  if (!name_ || link_ == Link::up) return;
  auto answer = context_->resolver().latest(*name_);
  if (!answer || answer == answer_) return;
  answer_ = std::move(answer);
  if (answer_->all.empty()) {
    if (addresses_.empty()) problem_ = answer_->problem;
    return;
  }
  const auto current = addresses_.empty() ? answer_->all.end() : std::ranges::find(answer_->all, addresses_[at_]);
  const bool known = current != answer_->all.end();
  at_ = known ? static_cast<std::size_t>(current - answer_->all.begin()) : 0;
  addresses_ = answer_->all;
  if (known) return;
  tried_ = 0;
  problem_.clear();
  build_again();
}

void Dial::attempt_failed(const std::string& why) {
  link_ = Link::connecting;
  if (name_ && ++tried_ < addresses_.size()) {
    at_ = (at_ + 1) % addresses_.size();
    next_address_ = true;
    return;
  }
  // libzmq pauses and tries this address again, which starts the next round.
  tried_ = 0;
  ++rounds_;
  problem_ = why;
  if (name_) context_->resolver().refresh(*name_);
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
  if (!socket_) {
    std::this_thread::sleep_for(timeout);  // a rebuild failed: keeps the caller from spinning
    return false;
  }
  const SystemClock clock;
  const MonoTime until = clock.mono() + timeout;
  while (connected_to_.empty()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - clock.mono());
    if (left.count() <= 0 || !context_->resolver().wait(*name_, answer_, left)) return false;
    follow_name();
    if (connected_to_.empty()) return false;  // the name has no address: link_problem() has changed
  }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - clock.mono());
  return wait_for(socket_, events, &monitor_, left);
}

void Dial::read_monitor() {
  std::uint16_t event = 0;
  std::uint32_t value = 0;
  std::string where;
  while (read_event(monitor_, event, value, where)) note(event, value);
  if (wrong_key_) try_other_key();
  if (next_address_) build_again();
  follow_name();
}

void Dial::note(std::uint16_t event, std::uint32_t value) {
  switch (event) {
    case ZMQ_EVENT_HANDSHAKE_SUCCEEDED:
      link_ = Link::up;
      problem_.clear();
      wrong_key_ = tried_both_ = next_address_ = false;
      tried_ = 0;
      rounds_ = 0;
      ++times_up_;
      return;
    case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
      link_ = Link::refused;
      problem_ = options_.endpoint + " does not allow your key " + options_.key.public_key + " (status " +
                 std::to_string(value) + "; run there: wattle keys allow KEY ROLE NAME)";
      return;
    case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL:
    case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
      if (event == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL && value == ETIMEDOUT)
        return attempt_failed(options_.endpoint + " did not finish the handshake in time");
      link_ = Link::refused;
      wrong_key_ = !options_.next_server_key.empty() && !tried_both_;
      problem_ = options_.endpoint + " rejected the handshake: its key is not " + options_.server_key +
                 (options_.next_server_key.empty() ? "" : " nor " + options_.next_server_key) +
                 ", or it is not a Wattle server (compare with the server's public key)";
      return;
    case ZMQ_EVENT_DISCONNECTED:
      if (link_ == Link::refused || next_address_) return;
      link_ = Link::connecting;
      problem_ = options_.endpoint + " closed the connection";
      if (name_) context_->resolver().refresh(*name_);
      return;
    case ZMQ_EVENT_CLOSED:  // an attempt to connect failed; libzmq tries again
      // Events of attempts at the previous address may still be queued.
      if (!next_address_) attempt_failed("no answer from " + options_.endpoint);
      return;
    default:
      return;
  }
}

}  // namespace wattle::transport
