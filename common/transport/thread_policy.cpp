#include "common/transport/thread_policy.hpp"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>

#include <cerrno>

namespace wattle::transport {

void keep_thread_policy() {}

}  // namespace wattle::transport

extern "C" __attribute__((visibility("default"))) int pthread_setschedparam(pthread_t thread, int policy,
                                                                            const sched_param* wanted) noexcept {
  int now = 0;
  sched_param has{};
  if (pthread_getschedparam(thread, &now, &has) == 0 && now == policy && has.sched_priority == wanted->sched_priority)
    return 0;
  using Set = int (*)(pthread_t, int, const sched_param*);
  static const auto next = reinterpret_cast<Set>(dlsym(RTLD_NEXT, "pthread_setschedparam"));
  return next != nullptr ? next(thread, policy, wanted) : ENOSYS;
}
