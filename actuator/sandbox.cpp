#include "actuator/sandbox.hpp"

#include <seccomp.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <memory>
#include <type_traits>

namespace wattle::actuator {

namespace {
struct Free {
  void operator()(void* memory) const { ::cap_free(memory); }
};
struct Release {
  void operator()(void* filter) const { ::seccomp_release(filter); }
};

// Files, the listening socket and the one to systemd, time, memory, signals. No new socket, program or process.
constexpr std::array kCalls{SCMP_SYS(read),
                            SCMP_SYS(pread64),
                            SCMP_SYS(readv),
                            SCMP_SYS(write),
                            SCMP_SYS(pwrite64),
                            SCMP_SYS(writev),
                            SCMP_SYS(open),
                            SCMP_SYS(openat),
                            SCMP_SYS(close),
                            SCMP_SYS(fstat),
                            SCMP_SYS(stat),
                            SCMP_SYS(lstat),
                            SCMP_SYS(newfstatat),
                            SCMP_SYS(statx),
                            SCMP_SYS(access),
                            SCMP_SYS(faccessat),
                            SCMP_SYS(faccessat2),
                            SCMP_SYS(lseek),
                            SCMP_SYS(fcntl),
                            SCMP_SYS(ioctl),
                            SCMP_SYS(getdents64),
                            SCMP_SYS(readlinkat),
                            SCMP_SYS(readlink),
                            SCMP_SYS(fdatasync),
                            SCMP_SYS(fsync),
                            SCMP_SYS(rename),
                            SCMP_SYS(renameat),
                            SCMP_SYS(renameat2),
                            SCMP_SYS(unlink),
                            SCMP_SYS(unlinkat),
                            SCMP_SYS(fchmod),
                            SCMP_SYS(fchown),
                            SCMP_SYS(poll),
                            SCMP_SYS(ppoll),
                            SCMP_SYS(accept4),
                            SCMP_SYS(getsockopt),
                            SCMP_SYS(recvfrom),
                            SCMP_SYS(recvmsg),
                            SCMP_SYS(sendto),
                            SCMP_SYS(sendmsg),
                            SCMP_SYS(clock_gettime),
                            SCMP_SYS(clock_nanosleep),
                            SCMP_SYS(nanosleep),
                            SCMP_SYS(gettimeofday),
                            SCMP_SYS(mmap),
                            SCMP_SYS(munmap),
                            SCMP_SYS(mremap),
                            SCMP_SYS(mprotect),
                            SCMP_SYS(madvise),
                            SCMP_SYS(brk),
                            SCMP_SYS(futex),
                            SCMP_SYS(rt_sigaction),
                            SCMP_SYS(rt_sigprocmask),
                            SCMP_SYS(rt_sigreturn),
                            SCMP_SYS(sigaltstack),
                            SCMP_SYS(tgkill),
                            SCMP_SYS(getpid),
                            SCMP_SYS(gettid),
                            SCMP_SYS(geteuid),
                            SCMP_SYS(getrandom),
                            SCMP_SYS(restart_syscall),
                            SCMP_SYS(rseq),
                            SCMP_SYS(set_robust_list),
                            SCMP_SYS(sched_yield),
                            SCMP_SYS(exit),
#ifdef WATTLE_SANITIZED
                            SCMP_SYS(pipe2),  // clang's UBSan uses a pipe to check whether memory is readable
#endif
                            SCMP_SYS(exit_group)};

// Calls of a D-Bus client that reconnects after the bus was away.
constexpr std::array kBusCalls{SCMP_SYS(connect),     SCMP_SYS(setsockopt), SCMP_SYS(getsockname),
                               SCMP_SYS(getpeername), SCMP_SYS(getuid),     SCMP_SYS(getgid),
                               SCMP_SYS(getegid),     SCMP_SYS(uname),      SCMP_SYS(prctl)};

int allow(void* filter, Work work) {
  for (const int call : kCalls)
    if (const int failed = ::seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 0); failed < 0) return failed;
  if (work != Work::units) return 0;
  for (const int call : kBusCalls)
    if (const int failed = ::seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 0); failed < 0) return failed;
  const scmp_arg_cmp local{0, SCMP_CMP_EQ, AF_UNIX, 0};
  return ::seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, SCMP_SYS(socket), 1, &local);
}
}  // namespace

Status give_up_rights(Work work) {
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  const std::unique_ptr<std::remove_pointer_t<cap_t>, Free> none(::cap_init());
  if (!none || ::cap_set_proc(none.get()) != 0)
    return fail_errno(errno, "capabilities", "allow capset in SystemCallFilter of the unit");
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return fail_errno(errno, "no_new_privs");
  const std::unique_ptr<void, Release> filter(::seccomp_init(SCMP_ACT_ERRNO(EPERM)));
  if (!filter) return fail(Errc::unsupported, "seccomp", "libseccomp cannot create a filter");
  if (const int failed = allow(filter.get(), work); failed < 0)
    return fail_errno(-failed, "seccomp", "install a newer libseccomp");
  if (const int failed = ::seccomp_load(filter.get()); failed < 0)
    return fail_errno(-failed, "seccomp", "allow seccomp in SystemCallFilter of the unit");
  return {};
}

}  // namespace wattle::actuator
