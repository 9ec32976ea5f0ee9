#include "shim/standby_process.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include "common/http/head.hpp"
#include "common/log_throttle.hpp"
#include "common/parse.hpp"
#include "shim/extender.hpp"
#include "shim/preemption.hpp"
#include "shim/standby.hpp"

namespace wattle::shim {
namespace {

constexpr std::size_t kMostHeadBytes = 16 << 10;
constexpr std::size_t kMostBodyBytes = 32 << 20;  // as the shim's
constexpr std::size_t kPieceBytes = 64 << 10;

// Leaves kube-scheduler's choice unchanged: no score, and all nodes pass. No value for another path, or for a request
// without readable nodes.
std::optional<std::string> neutral_answer(std::string_view path, std::string_view body) {
  if (path == "/prioritize") return "[]";
  if (path == "/filter") {
    const std::vector<std::string> names = names_of(body);
    if (!names.empty()) return format_filter(names, {});
    const auto whole = raw_member(body, "Nodes");
    return whole ? std::optional(format_filter_nodes(*whole)) : std::nullopt;
  }
  if (path != "/preempt") return std::nullopt;
  const auto preemption = parse_preemption_args(body);
  return preemption ? std::optional(format_preemption(*preemption, preemption->nodes)) : std::nullopt;
}

int milliseconds_of(Duration span) {
  return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(std::max(span, Duration{0})).count());
}

enum class Received { none, beat, end };

// Takes one message, and the listening socket that it may carry.
Received receive(const Fd& link, Fd& listener) {
  char byte = 0;
  iovec part{&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t n = ::recvmsg(link.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (n < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? Received::none : Received::end;
  if (n == 0) return Received::end;
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_type == SCM_RIGHTS) {
    int descriptor = -1;
    std::memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
    listener = Fd(descriptor);
  }
  return Received::beat;
}

// A whole request, or no value if none arrives in time.
std::optional<std::string> read_request(const Fd& peer, const Clock& clock) {
  const MonoTime until = clock.mono() + kExchangeWithin;
  std::string bytes;
  std::optional<std::size_t> wanted;
  while (!wanted || bytes.size() < *wanted) {
    pollfd waiting{peer.get(), POLLIN, 0};
    if (::poll(&waiting, 1, milliseconds_of(until - clock.mono())) <= 0) return std::nullopt;
    const std::size_t before = bytes.size();
    bytes.resize(before + kPieceBytes);
    const ssize_t n = ::recv(peer.get(), bytes.data() + before, kPieceBytes, MSG_DONTWAIT);
    if (n <= 0) return std::nullopt;
    bytes.resize(before + static_cast<std::size_t>(n));
    if (wanted) continue;
    const auto head = http::head_bytes(bytes);
    if (!head && bytes.size() > kMostHeadBytes) return std::nullopt;
    if (!head) continue;
    const std::uint64_t body = body_bytes(std::string_view(bytes).substr(0, *head));
    if (body > kMostBodyBytes) return std::nullopt;
    wanted = *head + static_cast<std::size_t>(body);
  }
  return bytes;
}

void answer_next(const Fd& listener, const Clock& clock) {
  const Fd peer(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!peer.valid()) return;  // the shim accepted it
  const auto request = read_request(peer, clock);
  if (!request) return;
  const std::string reply = standby_reply(*request);
  const MonoTime until = clock.mono() + kExchangeWithin;
  for (std::size_t at = 0; at < reply.size();) {
    const ssize_t n = ::send(peer.get(), reply.data() + at, reply.size() - at, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n > 0) at += static_cast<std::size_t>(n);
    if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK) return;
    pollfd waiting{peer.get(), POLLOUT, 0};
    if (n < 0 && ::poll(&waiting, 1, milliseconds_of(until - clock.mono())) <= 0) return;
  }
  ::shutdown(peer.get(), SHUT_WR);
}

}  // namespace

std::uint64_t body_bytes(std::string_view head) {
  std::uint64_t found = 0;
  parse::for_each_line(head, [&](std::string_view line) {
    constexpr std::string_view kName = "content-length:";
    if (line.size() > kName.size() && http::lower_case(line.substr(0, kName.size())) == kName)
      found = parse::u64(parse::trim(line.substr(kName.size()))).value_or(0);
  });
  return found;
}

std::string standby_reply(std::string_view request) {
  const std::size_t head = http::head_bytes(request).value_or(request.size());
  const auto words = parse::fields(request.substr(0, request.find("\r\n")));
  const auto answer =
      words.size() == 3 && words[0] == "POST" ? neutral_answer(words[1], request.substr(head)) : std::nullopt;
  std::string out = answer ? "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                           : "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\n";
  const std::string body = answer.value_or("the shim hangs\n");
  return out + "Content-Length: " + std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n" + body;
}

void run_standby(const Fd& link, const Clock& clock, const Log& log) {
  Fd listener;
  bool hangs = false, logged = false;
  LogThrottle throttle(std::chrono::minutes(1));
  for (;;) {
    std::array<pollfd, 2> waiting{{{link.get(), POLLIN, 0}, {hangs ? listener.get() : -1, POLLIN, 0}}};
    const int ready = ::poll(waiting.data(), waiting.size(), hangs ? -1 : milliseconds_of(kHangsAfter));
    if (ready == 0 && listener.valid()) {
      hangs = true;
      const auto times = throttle.note("", clock.mono());
      logged = times.has_value();
      if (logged)
        log.warn("standby.took_over", "the shim hangs: its standby process answers kube-scheduler neutrally",
                 {{"times", *times}});
    }
    if (waiting[0].revents != 0) {
      Received received = receive(link, listener);
      while (received == Received::beat) received = receive(link, listener);
      if (received == Received::end) return;
      if (hangs && logged) log.info("standby.handed_back", "the shim answers again");
      hangs = false;
    } else if (waiting[1].revents != 0) {
      answer_next(listener, clock);
    }
  }
}

}  // namespace wattle::shim
