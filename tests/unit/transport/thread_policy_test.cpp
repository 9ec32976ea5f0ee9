// thread_policy: libzmq under the system call filter that our systemd units request.
#include "common/transport/thread_policy.hpp"

#include <doctest/doctest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zmq.h>

#include <array>
#include <cerrno>
#include <cstddef>

using namespace wattle::transport;

namespace {
// Like SystemCallFilter=~@resources with SystemCallErrorNumber=EPERM.
bool refuse_sched_setscheduler() {
  std::array<sock_filter, 4> program{
      sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sched_setscheduler, 0, 1),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}
}  // namespace

TEST_CASE("libzmq starts its threads although setting the scheduling policy is forbidden") {
  keep_thread_policy();
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    if (!refuse_sched_setscheduler()) ::_exit(77);
    const sched_param asked{1};
    if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &asked) != EPERM) ::_exit(2);  // a change is still refused
    void* context = zmq_ctx_new();
    void* socket = zmq_socket(context, ZMQ_DEALER);  // the first one starts the threads
    ::_exit(socket != nullptr ? 0 : 3);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
    MESSAGE("[skipped] no system call filter can be installed here");
    return;
  }
  REQUIRE(WIFEXITED(status));  // otherwise libzmq aborted
  CHECK(WEXITSTATUS(status) == 0);
}
