#include "common/seqpacket.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>

namespace wattle {

Result<Fd> connect_seqpacket(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path)
    return fail(Errc::out_of_range, path, "is empty or too long for a socket path", "choose a shorter path");
  path.copy(address.sun_path, path.size());
  Fd peer(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!peer.valid()) return fail_errno(errno, path);
  if (::connect(peer.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return peer;
  if (errno == ECONNREFUSED || errno == ENOENT || errno == EAGAIN)
    return fail(Errc::unavailable, path, "no process listens on this socket", "check that wattle-actuator is running");
  return fail_errno(errno, path, errno == EACCES ? "run the program as root or as the user that the peer allows" : "");
}

Status send_packet(const Fd& peer, std::string_view message) {
  if (::send(peer.get(), message.data(), message.size(), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) return {};
  return fail_errno(errno, "socket");
}

Result<std::optional<std::string>> receive_packet(const Fd& peer, std::size_t max_bytes,
                                                  std::chrono::milliseconds timeout) {
  pollfd waiting{peer.get(), POLLIN, 0};
  if (::poll(&waiting, 1, static_cast<int>(timeout.count())) <= 0) return std::optional<std::string>();
  std::string message(max_bytes + 1, '\0');
  const ssize_t n = ::recv(peer.get(), message.data(), message.size(), MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return std::optional<std::string>();
  if (n < 0) return fail_errno(errno, "socket");
  if (n == 0) return fail(Errc::unavailable, "socket", "the peer closed the connection");
  message.resize(static_cast<std::size_t>(n));
  return std::optional<std::string>(std::move(message));
}

}  // namespace wattle
