#include "shim/plugin_link.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "shim/plugin_wire.hpp"

namespace wattle::shim {
namespace {

constexpr int kTurn_ms = 500;
constexpr std::size_t kReadBytes = 64 << 10;
constexpr std::size_t kKeptBytes = 1 << 20;  // capacity that a peer keeps between frames

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path)
    return fail(Errc::out_of_range, path, "is empty or too long for a socket path", "choose a shorter path");
  path.copy(address.sun_path, path.size());
  return address;
}

Result<Fd> listen_on(const std::string& path) {
  WATTLE_TRY(const sockaddr_un address, address_of(path));
  const auto* where = reinterpret_cast<const sockaddr*>(&address);
  // A killed shim leaves its socket behind. One that another process serves stays.
  struct stat info {};
  if (::lstat(path.c_str(), &info) == 0 && S_ISSOCK(info.st_mode)) {
    const Fd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (::connect(probe.get(), where, sizeof address) == 0 || errno != ECONNREFUSED)
      return fail(Errc::conflict, path, "another process listens on this socket", "stop it, or set another path");
    ::unlink(path.c_str());
  }
  Fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener.valid()) return fail_errno(errno, path);
  if (::bind(listener.get(), where, sizeof address) != 0)
    return fail_errno(errno, path, "use a path in a folder that the shim can write to");
  if (::chmod(path.c_str(), 0660) != 0 || ::listen(listener.get(), kPluginPeers) != 0) return fail_errno(errno, path);
  return listener;
}

Error gone(Errc code, std::string what) { return {code, "scheduler plugin", std::move(what), {}}; }

}  // namespace

Result<std::unique_ptr<PluginLink>> PluginLink::start(const std::string& path, Answer answer, const Clock& clock,
                                                      const Log& log) {
  WATTLE_TRY(Fd listener, listen_on(path));
  Fd stop(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stop.valid()) return fail_errno(errno, "eventfd");
  std::unique_ptr<PluginLink> link(
      new PluginLink(path, std::move(listener), std::move(stop), std::move(answer), clock, log));
  link->thread_ = std::thread([self = link.get()] { self->serve(); });
  return link;
}

PluginLink::PluginLink(std::string path, Fd listener, Fd stop, Answer answer, const Clock& clock, const Log& log)
    : path_(std::move(path)),
      listener_(std::move(listener)),
      stop_(std::move(stop)),
      answer_(std::move(answer)),
      clock_(clock),
      log_(log),
      pulse_(clock.mono()) {}

PluginLink::~PluginLink() {
  if (thread_.joinable()) {
    ::eventfd_write(stop_.get(), 1);
    thread_.join();
  }
  ::unlink(path_.c_str());
}

void PluginLink::serve() {
  std::vector<pollfd> waiting;
  for (;;) {
    waiting.assign({{stop_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}});
    for (const Peer& peer : peers_) waiting.push_back({peer.socket.get(), POLLIN, 0});
    ::poll(waiting.data(), waiting.size(), kTurn_ms);
    const MonoTime now = clock_.mono();
    pulse_.beat(now);
    if (waiting[0].revents != 0) return;
    std::vector<Peer> kept;
    for (std::size_t i = 0; i < peers_.size(); ++i) {
      std::optional<Error> why;
      if (waiting[i + 2].revents != 0) why = read(peers_[i]);
      if (!why && !peers_[i].bytes.empty() && now - peers_[i].since > kFrameWithin)
        why = gone(Errc::timeout, "did not finish its request within 5 s");
      if (why)
        drop(*why);
      else
        kept.push_back(std::move(peers_[i]));
    }
    peers_ = std::move(kept);
    if (waiting[1].revents != 0) accept();
  }
}

void PluginLink::accept() {
  Fd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket.valid()) return;
  if (peers_.size() == kPluginPeers) return drop(gone(Errc::exhausted, "has 8 connections already"));
  peers_.push_back({std::move(socket), {}, {}});
}

// A peer that closes between two requests is not a fault.
void PluginLink::drop(const Error& why) {
  if (why.code == Errc::unavailable) return;
  if (const auto count = logged_.note(path_, clock_.mono()))
    log_.warn("plugin.disconnected", "a peer was disconnected from the plugin's socket",
              {{"why", why.message()}, {"times", *count}});
}

std::optional<Error> PluginLink::read(Peer& peer) {
  // Other peers get their turn after one frame of the largest size; poll() returns at once if more is there.
  for (std::size_t i = 0; i <= kPluginFrameBytes / kReadBytes; ++i) {
    const std::size_t before = peer.bytes.size();
    peer.bytes.resize(before + kReadBytes);
    const ssize_t n = ::recv(peer.socket.get(), peer.bytes.data() + before, kReadBytes, MSG_DONTWAIT);
    const int error = errno;
    peer.bytes.resize(before + (n > 0 ? static_cast<std::size_t>(n) : 0));
    if (n < 0 && error == EINTR) continue;
    if (n < 0 && (error == EAGAIN || error == EWOULDBLOCK)) return std::nullopt;
    if (n < 0) return gone(Errc::unavailable, "closed the connection");
    if (n == 0)
      return before == 0 ? gone(Errc::unavailable, "closed the connection")
                         : gone(Errc::malformed, "closed the connection within a request");
    if (before == 0) peer.since = clock_.mono();
    if (auto why = answer_frames(peer)) return why;
    if (static_cast<std::size_t>(n) < kReadBytes) return std::nullopt;
  }
  return std::nullopt;
}

std::optional<Error> PluginLink::answer_frames(Peer& peer) {
  std::size_t at = 0;
  while (peer.bytes.size() - at >= kPluginLengthBytes) {
    const auto length = plugin_length(std::string_view(peer.bytes).substr(at));
    if (!length) return length.error();
    if (peer.bytes.size() - at - kPluginLengthBytes < *length) break;
    const auto answer = answer_(std::string_view(peer.bytes).substr(at + kPluginLengthBytes, *length));
    const std::string reply = answer ? *answer : encode_plugin_refusal(answer.error());
    at += kPluginLengthBytes + *length;
    peer.since = clock_.mono();
    const ssize_t sent = ::send(peer.socket.get(), reply.data(), reply.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && (errno == EPIPE || errno == ECONNRESET)) return gone(Errc::unavailable, "closed the connection");
    if (sent != static_cast<ssize_t>(reply.size())) return gone(Errc::timeout, "does not read its answers");
    if (!answer) return answer.error();
  }
  peer.bytes.erase(0, at);
  if (peer.bytes.empty() && peer.bytes.capacity() > kKeptBytes) peer.bytes.shrink_to_fit();
  return std::nullopt;
}

}  // namespace wattle::shim
