// kernels.inl: implementation of kernels.hpp, included once per instruction set. The includer defines WATTLE_TARGET
// (function attribute), Vec (the vector that fills one register) and kLanes (its number of floats). Four rows by two
// vectors keep eight accumulators busy, which hides the latency of a fused multiply-add. All loops sum a row in the
// same order, so a node's score does not depend on its position. AT is a macro because a function of another target
// would split the vector that it passes on.

#define LOAD(pointer) (*reinterpret_cast<const Vec*>(pointer))
#define STORE(pointer) (*reinterpret_cast<Vec*>(pointer))

WATTLE_TARGET inline void dense_rows(const float* x, std::size_t rows, std::size_t in, const float* w,
                                     const float* bias, float* y, bool relu) {
  const Vec zero{};
  std::size_t r = 0;
  for (; r + 4 <= rows; r += 4) {
    const float* x0 = x + r * in;
    const float* x1 = x0 + in;
    const float* x2 = x1 + in;
    const float* x3 = x2 + in;
    for (std::size_t c = 0; c < 64; c += 2 * kLanes) {
      const float* second = bias + c + kLanes;
      Vec a0 = LOAD(bias + c), a1 = a0, a2 = a0, a3 = a0;
      Vec b0 = LOAD(second), b1 = b0, b2 = b0, b3 = b0;
      const float* wk = w + c;
      for (std::size_t k = 0; k < in; ++k, wk += 64) {
        const Vec wa = LOAD(wk);
        const Vec wb = LOAD(wk + kLanes);
        a0 += x0[k] * wa;
        b0 += x0[k] * wb;
        a1 += x1[k] * wa;
        b1 += x1[k] * wb;
        a2 += x2[k] * wa;
        b2 += x2[k] * wb;
        a3 += x3[k] * wa;
        b3 += x3[k] * wb;
      }
      if (relu) {
        a0 = a0 > zero ? a0 : zero;
        a1 = a1 > zero ? a1 : zero;
        a2 = a2 > zero ? a2 : zero;
        a3 = a3 > zero ? a3 : zero;
        b0 = b0 > zero ? b0 : zero;
        b1 = b1 > zero ? b1 : zero;
        b2 = b2 > zero ? b2 : zero;
        b3 = b3 > zero ? b3 : zero;
      }
      float* out = y + r * 64 + c;
      STORE(out) = a0;
      STORE(out + kLanes) = b0;
      STORE(out + 64) = a1;
      STORE(out + 64 + kLanes) = b1;
      STORE(out + 128) = a2;
      STORE(out + 128 + kLanes) = b2;
      STORE(out + 192) = a3;
      STORE(out + 192 + kLanes) = b3;
    }
  }
  for (; r < rows; ++r) {
    const float* xr = x + r * in;
    for (std::size_t c = 0; c < 64; c += 8 * kLanes) {
      const float* from = bias + c;
      Vec s0 = LOAD(from + 0 * kLanes), s1 = LOAD(from + 1 * kLanes), s2 = LOAD(from + 2 * kLanes),
          s3 = LOAD(from + 3 * kLanes), s4 = LOAD(from + 4 * kLanes), s5 = LOAD(from + 5 * kLanes),
          s6 = LOAD(from + 6 * kLanes), s7 = LOAD(from + 7 * kLanes);
      const float* wk = w + c;
      for (std::size_t k = 0; k < in; ++k, wk += 64) {
        s0 += xr[k] * LOAD(wk + 0 * kLanes);
        s1 += xr[k] * LOAD(wk + 1 * kLanes);
        s2 += xr[k] * LOAD(wk + 2 * kLanes);
        s3 += xr[k] * LOAD(wk + 3 * kLanes);
        s4 += xr[k] * LOAD(wk + 4 * kLanes);
        s5 += xr[k] * LOAD(wk + 5 * kLanes);
        s6 += xr[k] * LOAD(wk + 6 * kLanes);
        s7 += xr[k] * LOAD(wk + 7 * kLanes);
      }
      if (relu) {
        s0 = s0 > zero ? s0 : zero;
        s1 = s1 > zero ? s1 : zero;
        s2 = s2 > zero ? s2 : zero;
        s3 = s3 > zero ? s3 : zero;
        s4 = s4 > zero ? s4 : zero;
        s5 = s5 > zero ? s5 : zero;
        s6 = s6 > zero ? s6 : zero;
        s7 = s7 > zero ? s7 : zero;
      }
      float* out = y + r * 64 + c;
      STORE(out + 0 * kLanes) = s0;
      STORE(out + 1 * kLanes) = s1;
      STORE(out + 2 * kLanes) = s2;
      STORE(out + 3 * kLanes) = s3;
      STORE(out + 4 * kLanes) = s4;
      STORE(out + 5 * kLanes) = s5;
      STORE(out + 6 * kLanes) = s6;
      STORE(out + 7 * kLanes) = s7;
    }
  }
}

WATTLE_TARGET void dense(const float* x, std::size_t rows, std::size_t in, const float* w, const float* bias,
                         float* y) {
  dense_rows(x, rows, in, w, bias, y, false);
}

WATTLE_TARGET void dense_relu(const float* x, std::size_t rows, std::size_t in, const float* w, const float* bias,
                              float* y) {
  dense_rows(x, rows, in, w, bias, y, true);
}

WATTLE_TARGET void dot(const float* y, std::size_t rows, const float* v, float* out) {
  for (std::size_t r = 0; r < rows; ++r, y += 64) {
    Vec even{};
    Vec odd{};
    for (std::size_t c = 0; c < 64; c += 2 * kLanes) {
      even += LOAD(y + c) * LOAD(v + c);
      odd += LOAD(y + c + kLanes) * LOAD(v + c + kLanes);
    }
    even += odd;
    float sum = 0;
    for (std::size_t lane = 0; lane < kLanes; ++lane) sum += even[lane];
    out[r] = sum;
  }
}

WATTLE_TARGET void pool(const float* y, std::size_t rows, float* sum, float* max) {
  for (std::size_t c = 0; c < 64; c += kLanes) {
    Vec total = LOAD(sum + c);
    Vec largest = LOAD(max + c);
    const float* from = y + c;
    for (std::size_t r = 0; r < rows; ++r, from += 64) {
      const Vec value = LOAD(from);
      total += value;
      largest = value > largest ? value : largest;
    }
    STORE(sum + c) = total;
    STORE(max + c) = largest;
  }
}

constexpr Kernels kKernels{dense, dense_relu, dot, pool};

#undef LOAD
#undef STORE
