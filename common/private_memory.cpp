#include "common/private_memory.hpp"

#include <sys/prctl.h>
#include <sys/resource.h>

namespace wattle {

void keep_memory_private() {
  const rlimit none{0, 0};
  static_cast<void>(::setrlimit(RLIMIT_CORE, &none));
  static_cast<void>(::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0));
}

}  // namespace wattle
