#include "models/frozen/kernels.hpp"

// Uses vector extensions of g++ and clang. target_clones would be shorter, but g++ splits wide vectors before it
// clones.
namespace wattle::models {

namespace {

namespace baseline {
typedef float Vec __attribute__((vector_size(16), aligned(4), may_alias));
constexpr std::size_t kLanes = 4;
#define WATTLE_TARGET
#include "models/frozen/kernels.inl"
#undef WATTLE_TARGET
}  // namespace baseline

#if defined(__x86_64__)
namespace avx2 {
typedef float Vec __attribute__((vector_size(32), aligned(4), may_alias));
constexpr std::size_t kLanes = 8;
#define WATTLE_TARGET __attribute__((target("avx2,fma")))
#include "models/frozen/kernels.inl"
#undef WATTLE_TARGET
}  // namespace avx2

namespace avx512 {
typedef float Vec __attribute__((vector_size(64), aligned(4), may_alias));
#define WATTLE_TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")))
#include "models/frozen/kernels_wide.inl"
#undef WATTLE_TARGET
}  // namespace avx512
#endif

}  // namespace

const Kernels& baseline_kernels() { return baseline::kKernels; }

std::vector<const Kernels*> usable_kernels() {
  std::vector<const Kernels*> usable{&baseline::kKernels};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0) {
    usable.push_back(&avx2::kKernels);
    if (__builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
        __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0)
      usable.push_back(&avx512::kKernels);
  }
#endif
  return usable;
}

const Kernels& best_kernels() { return *usable_kernels().back(); }

}  // namespace wattle::models
