#include "actuator/agent_link.hpp"

#include <pwd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "common/seqpacket.hpp"

namespace wattle::actuator {

namespace {
std::optional<uid_t> uid_of(const std::string& user) {
  passwd entry{};
  passwd* found = nullptr;
  std::array<char, 16384> buffer;
  if (::getpwnam_r(user.c_str(), &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr)
    return std::nullopt;
  return entry.pw_uid;
}
constexpr const char* kAgentUser = "wattle-agent";  // of the unit and the packages
}  // namespace

Result<AgentLink> AgentLink::open_(const std::string& path) {
  std::vector<uid_t> allowed{0, ::geteuid()};
  // On a host without an agent the user does not exist, and only root and our own user may connect.
  if (const auto uid = uid_of(kAgentUser)) allowed.push_back(*uid);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return fail(Errc::out_of_range, path, "too long for a socket path", "choose a shorter path");
  path.copy(address.sun_path, path.size());
  Fd listener(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener.valid()) return fail_errno(errno, path);
  // A killed process may have left the socket; the journal's lock guarantees that no other process uses it.
  struct stat info {};
  if (::lstat(path.c_str(), &info) == 0 && S_ISSOCK(info.st_mode)) ::unlink(path.c_str());
  const mode_t before = ::umask(0117);
  const int bound = ::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  const int why = errno;
  ::umask(before);
  if (bound != 0) return fail_errno(why, path, "use a socket in a folder that the actuator can write to");
  if (::listen(listener.get(), 4) != 0) return fail_errno(errno, path);
  return AgentLink(std::move(listener), std::move(allowed));
}

Status AgentLink::accept() {
  Fd peer(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!peer.valid()) return {};
  ucred who{};
  socklen_t size = sizeof who;
  if (::getsockopt(peer.get(), SOL_SOCKET, SO_PEERCRED, &who, &size) != 0) return fail_errno(errno, "peer");
  if (std::ranges::find(allowed_, who.uid) == allowed_.end())
    return fail(Errc::denied, "peer of user " + std::to_string(who.uid), "is not the agent",
                "run the agent as user " + std::string(kAgentUser) + " or root");
  peer_ = std::move(peer);
  return {};
}

Result<std::optional<Message>> AgentLink::receive() {
  if (!peer_.valid()) return std::optional<Message>();
  auto text = receive_packet(peer_, actuation::kMaxMessageBytes, std::chrono::milliseconds(0));
  if (!text) {
    peer_ = Fd();
    return std::optional<Message>();
  }
  if (!*text) return std::optional<Message>();
  if (**text == actuation::kStatus) return std::optional<Message>(Message{});
  auto orders = actuation::parse_orders(**text);
  if (!orders) {
    peer_ = Fd();
    return forward_error(orders);
  }
  return std::optional<Message>(Message{std::move(*orders)});
}

void AgentLink::send(const actuation::Report& report) {
  if (!peer_.valid()) return;
  // Does not wait for a peer that does not read.
  if (!send_packet(peer_, actuation::to_text(report))) peer_ = Fd();
}

}  // namespace wattle::actuator
