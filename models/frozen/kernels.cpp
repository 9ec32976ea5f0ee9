#include "models/frozen/kernels.hpp"

// Vector extensions of g++ and clang: eight floats, however many registers of the target that takes. target_clones
// would be shorter, but g++ splits wide vectors before it clones.
namespace wattle::models {

namespace {

typedef float V8 __attribute__((vector_size(32), aligned(4), may_alias));

// Macros, not functions: a function of the baseline target would split the vector that it hands on.
#define V8_AT(pointer) (*reinterpret_cast<Access<decltype(pointer)>::Type*>(pointer))
template <class Pointer>
struct Access;
template <>
struct Access<const float*> {
  using Type = const V8;
};
template <>
struct Access<float*> {
  using Type = V8;
};

namespace baseline {
#define WATTLE_TARGET
#include "models/frozen/kernels.inl"
#undef WATTLE_TARGET
}  // namespace baseline

#if defined(__x86_64__)
namespace avx2 {
#define WATTLE_TARGET __attribute__((target("avx2,fma")))
#include "models/frozen/kernels.inl"
#undef WATTLE_TARGET
}  // namespace avx2
#endif

#undef V8_AT

}  // namespace

const Kernels& baseline_kernels() { return baseline::kKernels; }

const Kernels& best_kernels() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0) return avx2::kKernels;
#endif
  return baseline::kKernels;
}

}  // namespace wattle::models
