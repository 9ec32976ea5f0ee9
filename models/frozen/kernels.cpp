#include "models/frozen/kernels.hpp"

// Vector extensions of g++ and clang. target_clones would be shorter, but g++ splits wide vectors before it clones.
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
#endif

}  // namespace

const Kernels& baseline_kernels() { return baseline::kKernels; }

const Kernels& best_kernels() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0) return avx2::kKernels;
#endif
  return baseline::kKernels;
}

}  // namespace wattle::models
