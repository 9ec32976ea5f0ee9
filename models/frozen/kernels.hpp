// kernels: the dense float operations of scoring, at a fixed width of 64.
// Shapes   x [rows x in], w [in x 64], bias and v [64], y [rows x 64], all row-major; out [rows]
// Threads  any; pure
// Cost     uses AVX-512, or AVX2 and FMA, if the processor has them (checked at run time); otherwise the target's
//          baseline
#pragma once

#include <cstddef>
#include <vector>

namespace wattle::models {

struct Kernels {
  // y = x w + bias
  void (*dense)(const float* x, std::size_t rows, std::size_t in, const float* w, const float* bias, float* y);
  // y = max(x w + bias, 0)
  void (*dense_relu)(const float* x, std::size_t rows, std::size_t in, const float* w, const float* bias, float* y);
  // out = y v
  void (*dot)(const float* y, std::size_t rows, const float* v, float* out);
  // sum += rows of y; max = larger of max and rows of y
  void (*pool)(const float* y, std::size_t rows, float* sum, float* max);
};

const Kernels& baseline_kernels();
// Kernels that this processor can run, fastest last.
std::vector<const Kernels*> usable_kernels();
const Kernels& best_kernels();

}  // namespace wattle::models
