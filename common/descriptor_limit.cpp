#include "common/descriptor_limit.hpp"

#include <sys/resource.h>

namespace wattle {

std::uint64_t raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = limit.rlim_max;
  return ::setrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_max : before;
}

void lower_descriptor_limit() {
  constexpr rlim_t kUsual = 1024;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur <= kUsual) return;
  limit.rlim_cur = kUsual;
  static_cast<void>(::setrlimit(RLIMIT_NOFILE, &limit));
}

}  // namespace wattle
