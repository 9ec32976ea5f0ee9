#include "common/transport/context.hpp"

#include <signal.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

#include "common/transport/thread_policy.hpp"

namespace wattle::transport {

namespace {
constexpr int kServerThreads = 2;  // of libzmq: one for thousands of agents, one for clients that wait for answers
constexpr std::chrono::hours kZapPatience{1};
// More than the controller's rate of logins admits within a login's life.
constexpr std::size_t kMostGuests = 2048;
constexpr std::chrono::hours kRememberRevoked{1};  // servers look each second
constexpr int kMaxSockets = 20'000;                // the swarm has one client per node in one context; slots are cheap

std::string to_z85(std::string_view raw) {
  std::array<char, 41> text{};
  zmq_z85_encode(text.data(), reinterpret_cast<const std::uint8_t*>(raw.data()), raw.size());
  return text.data();
}

std::optional<Channel> channel_of(std::string_view domain) {
  for (const Channel channel : kChannels)
    if (domain.starts_with(kZapDomain) && domain.substr(kZapDomain.size()) == to_string(channel)) return channel;
  return std::nullopt;
}

std::string_view fix_of(Refused why) {
  switch (why) {
    case Refused::routing_id:
    case Refused::unfinished:
    case Refused::unread:
    case Refused::connections:
    case Refused::subscription:
      return "Wattle's programs never do this: find the owner of the key and revoke the key with `wattle keys revoke`";
    default:
      return "if the key is yours, allow it with `wattle keys allow KEY ROLE NAME`";
  }
}

// A socket of both families shows an IPv4 peer as "::ffff:192.0.2.1".
std::string_view plain_address(std::string_view address) {
  constexpr std::string_view kMapped = "::ffff:";
  const bool mapped = address.starts_with(kMapped) && address.find('.') != std::string_view::npos;
  return mapped ? address.substr(kMapped.size()) : address;
}

// Encodes ZMTP metadata: length and name, four bytes of length (big endian) and value.
std::string metadata(std::string_view name, std::string_view value) {
  std::string bytes(1, static_cast<char>(name.size()));
  bytes += name;
  bytes += {'\0', '\0', '\0', static_cast<char>(value.size())};
  bytes += value;
  return bytes;
}
}  // namespace

Context::Impl::Impl() : allow_(std::make_shared<const AllowList>()) {
  keep_thread_policy();
  zmq_.set(zmq::ctxopt::max_sockets, kMaxSockets);
}

Context::Impl::~Impl() {
  if (zap_.joinable()) {
    send(stop_, "stop", false);
    zap_.join();
  }
  stop_.close();
}

void Context::Impl::serve(AllowList list, const Log& log_to) {
  assert(!zap_.joinable() && "serve() is called once");
  zmq_.set(zmq::ctxopt::io_threads, kServerThreads);  // libzmq starts them with the first socket
  set_allow_list(std::move(list));
  log_ = &log_to;
  // Bound before any Server, so that handshakes are answered from the start.
  zmq::socket_t requests, stop_near, stop_far;
  const Status opened = guarded("inproc://zeromq.zap.01", [&] {
    requests = zmq::socket_t(zmq_, zmq::socket_type::rep);
    stop_near = zmq::socket_t(zmq_, zmq::socket_type::pair);
    stop_far = zmq::socket_t(zmq_, zmq::socket_type::pair);
    requests.set(zmq::sockopt::linger, 0);
    stop_near.set(zmq::sockopt::linger, 0);
    requests.bind("inproc://zeromq.zap.01");
    stop_far.bind("inproc://wattle.zap.stop");
    stop_near.connect("inproc://wattle.zap.stop");
  });
  if (!opened) {
    // Handshakes are then all refused, because the domain is enforced.
    log_to.error("handshake.unavailable", "the server cannot answer handshakes", {{"error", opened.error()}});
    return;
  }
  stop_ = std::move(stop_near);
  // Blocks all signals in the new thread; the program's other threads handle them.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  zap_ = std::thread([this, in = std::move(requests), far = std::move(stop_far)]() mutable {
    answer_until_stopped(std::move(in), std::move(far));
  });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

std::vector<Revoked> Context::Impl::set_allow_list(AllowList list) {
  auto next = std::make_shared<const AllowList>(std::move(list));
  const AllowList& now = *next;
  std::shared_ptr<const AllowList> before;
  {
    const std::lock_guard lock(mutex_);
    before = std::exchange(allow_, next);
  }
  list_edition_.fetch_add(1, std::memory_order_release);
  std::vector<Revoked> revoked;
  for (const auto& [key, identity] : before->entries()) {
    const Identity* still = now.find(key);
    if (still == nullptr || *still != identity) revoked.push_back({key, identity});
  }
  const std::lock_guard lock(mutex_);
  for (const Revoked& one : revoked) note_revoked(one.public_key);
  return revoked;
}

Status Context::Impl::admit_guest(const std::string& public_key, MonoTime until) {
  const std::lock_guard lock(mutex_);
  if (allow_->find(public_key) != nullptr)
    return fail(Errc::conflict, "key " + public_key, "is on the allow list", "use another key");
  if (guests_.size() >= kMostGuests && !guests_.contains(public_key))
    return fail(Errc::exhausted, "readers", "too many are logged in", "try again in some minutes");
  guests_[public_key] = {std::make_shared<const Identity>(Identity{Role::reader, "guest"}), until};
  return {};
}

void Context::Impl::end_guests(MonoTime now) {
  const std::lock_guard lock(mutex_);
  const auto ended = std::erase_if(guests_, [&](const auto& guest) {
    if (now < guest.second.until) return false;
    note_revoked(guest.first);
    return true;
  });
  if (ended != 0) list_edition_.fetch_add(1, std::memory_order_release);
}

void Context::Impl::note_revoked(const std::string& key) {
  const MonoTime now = clock_.mono();
  while (!revoked_.empty() && now - revoked_.front().at > kRememberRevoked) {
    revoked_.pop_front();
    ++forgotten_;
  }
  revoked_.push_back({key, now});
}

std::vector<std::string> Context::Impl::revoked_since(std::size_t& seen) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> keys;
  for (std::size_t i = std::max(seen, forgotten_) - forgotten_; i < revoked_.size(); ++i)
    keys.push_back(revoked_[i].key);
  seen = forgotten_ + revoked_.size();
  return keys;
}

std::shared_ptr<const Identity> Context::Impl::allowed(std::string_view public_key) const {
  std::shared_ptr<const AllowList> list;
  std::shared_ptr<const Identity> guest;
  {
    const std::lock_guard lock(mutex_);
    list = allow_;
    if (const auto found = guests_.find(public_key); found != guests_.end()) guest = found->second.identity;
  }
  const Identity* identity = list->find(public_key);
  return identity == nullptr ? guest : std::shared_ptr<const Identity>(list, identity);
}

void Context::Impl::answer_until_stopped(zmq::socket_t requests, zmq::socket_t stop) {
  for (;;) {
    if (wait_for(requests, ZMQ_POLLIN, &stop, kZapPatience)) answer(requests);
    zmq::message_t word;
    if (receive(stop, word)) return;
  }
}

// RFC 27: version, request id, domain, address, identity, mechanism, credentials.
void Context::Impl::answer(zmq::socket_t& requests) {
  std::vector<std::string> frames;
  bool more = true;
  while (more) {
    zmq::message_t frame;
    if (!receive(requests, frame)) return;
    frames.emplace_back(frame.to_string_view());
    more = frame.more();
  }
  std::string status = "400";
  std::string text = "not allowed";
  std::string user_id;
  std::string properties;
  const std::string request_id = frames.size() > 1 ? frames[1] : "";
  const auto channel = channel_of(frames.size() > 2 ? frames[2] : "");
  if (channel && frames.size() == 7 && frames[0] == "1.0" && frames[5] == "CURVE" && frames[6].size() == 32) {
    const std::string key = to_z85(frames[6]);
    const auto identity = allowed(key);
    if (!identity) {
      refuse_key(*channel, Refused::unknown_key, key, nullptr, frames[3]);
    } else if (*channel == Channel::feed && refused(*channel, std::nullopt, {}, identity->role)) {
      // Other roles get the reason as an answer to their first message; a subscriber sends none.
      refuse_key(*channel, Refused::role, key, identity.get(), frames[3]);
    } else {
      status = "200";
      text = "OK";
      user_id = key;
      properties = metadata(kIdentityProperty, identity->user_id());
    }
  } else {
    refuse_handshake(channel.value_or(Channel::ask), Refused::no_key, "the client sent no CURVE key");
  }
  send(requests, "1.0", true);
  send(requests, request_id, true);
  send(requests, status, true);
  send(requests, text, true);
  send(requests, user_id, true);
  send(requests, properties, false);
}

std::optional<std::uint64_t> Context::Impl::to_report(const std::string& peer) {
  const std::lock_guard lock(reported_mutex_);
  return reported_.note(peer, clock_.mono());
}

void Context::Impl::refuse_key(Channel channel, Refused why, const std::string& public_key, const Identity* identity,
                               std::string_view address) {
  refusals_.add(channel, why, identity == nullptr ? std::nullopt : std::optional(identity->role));
  const auto count = to_report(public_key + std::string(to_string(channel)) + std::string(to_string(why)));
  if (!count || log_ == nullptr) return;
  log_->warn("peer.refused", "a peer was rejected",
             {{"endpoint", to_string(channel)},
              {"reason", to_string(why)},
              {"key", public_key},
              {"peer", identity == nullptr ? std::string("unknown") : identity->user_id()},
              {"address", plain_address(address)},
              {"count", *count},
              {"fix", fix_of(why)}});
}

void Context::Impl::refuse_handshake(Channel channel, Refused why, const std::string& detail) {
  refusals_.add(channel, why, std::nullopt);
  // The peer is unknown, so these refusals share one log line per minute.
  const auto count = to_report(std::string(to_string(channel)) + " " + std::string(to_string(why)));
  if (!count || log_ == nullptr) return;
  log_->warn("handshake.refused", "a handshake was rejected",
             {{"endpoint", to_string(channel)}, {"reason", to_string(why)}, {"what", detail}, {"count", *count}});
}

Context::Context() : impl_(std::make_unique<Impl>()) {}
Context::Context(Context&&) noexcept = default;
Context::~Context() = default;
void Context::serve(AllowList allow, const Log& log) { impl_->serve(std::move(allow), log); }
std::vector<Revoked> Context::set_allow_list(AllowList allow) { return impl_->set_allow_list(std::move(allow)); }
Status Context::admit_guest(const std::string& public_key, MonoTime until) {
  return impl_->admit_guest(public_key, until);
}
void Context::end_guests(MonoTime now) { impl_->end_guests(now); }
RefusalCounts& Context::refusals() const { return impl_->refusals(); }

std::uint64_t Context::refused_handshakes() const {
  std::uint64_t sum = impl_->refusals().get(Channel::feed, Refused::role);
  for (const Channel channel : kChannels) sum += impl_->refusals().get(channel, Refused::unknown_key);
  return sum;
}

}  // namespace wattle::transport
