#include "shim/standby.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "shim/standby_process.hpp"

namespace wattle::shim {

Result<std::unique_ptr<Standby>> Standby::start(const Log& log) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return fail_errno(errno, "standby process");
  Fd ours(ends[0]), theirs(ends[1]);
  const pid_t process = ::fork();
  if (process < 0) return fail_errno(errno, "standby process");
  if (process == 0) {
    ours = Fd();  // the shim then has the only copy, so that its end is detected
    ::prctl(PR_SET_NAME, "shim-standby");
    run_standby(theirs, SystemClock(), log);
    ::_exit(0);
  }
  return std::unique_ptr<Standby>(new Standby(std::move(ours), process, log));
}

Standby::~Standby() { end(); }

void Standby::share(int listener) {
  char byte = 0;
  iovec part{&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof listener)> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof listener);
  std::memcpy(CMSG_DATA(header), &listener, sizeof listener);
  // Fails only if the standby process has ended, which the next beat() logs.
  static_cast<void>(::sendmsg(link_.get(), &message, MSG_NOSIGNAL));
}

// A full socket means a slow standby; the beats that wait in it are enough.
void Standby::beat() {
  if (::send(link_.get(), "", 1, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0 || errno == EAGAIN || errno == EWOULDBLOCK) return;
  if (!lost_.exchange(true))
    log_.warn("standby.lost", "the standby process has ended: kube-scheduler waits for the shim if it hangs",
              {{"errno", errno}});
}

void Standby::end() {
  if (process_ == 0) return;
  lost_ = true;  // expected from here on
  ::kill(process_, SIGKILL);
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
  process_ = 0;
}

}  // namespace wattle::shim
