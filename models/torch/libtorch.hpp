// libtorch: the only place that includes libtorch. ATen (tensors, autograd) suffices and compiles faster than
// torch/torch.h.
#pragma once

// clang 14 in C++20 requires that ivalue.h is included first.
#include <ATen/core/ivalue.h>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
