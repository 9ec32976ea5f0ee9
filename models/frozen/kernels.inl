// kernels.inl: the bodies of kernels.hpp, included once per instruction set (WATTLE_TARGET is its function attribute).
// Four rows by sixteen columns keep eight accumulators busy, which hides the latency of a fused multiply-add. Every row
// is summed in the same order whichever loop it falls in, so a node's score does not depend on its place.

WATTLE_TARGET inline void dense_rows(const float* x, std::size_t rows, std::size_t in, const float* w,
                                     const float* bias, float* y, bool relu) {
  const V8 zero{};
  std::size_t r = 0;
  for (; r + 4 <= rows; r += 4) {
    const float* x0 = x + r * in;
    const float* x1 = x0 + in;
    const float* x2 = x1 + in;
    const float* x3 = x2 + in;
    for (std::size_t c = 0; c < 64; c += 16) {
      const V8 first = V8_AT(bias + c);
      const V8 second = V8_AT(bias + c + 8);
      V8 a0 = first, a1 = first, a2 = first, a3 = first;
      V8 b0 = second, b1 = second, b2 = second, b3 = second;
      const float* wk = w + c;
      for (std::size_t k = 0; k < in; ++k, wk += 64) {
        const V8 wa = V8_AT(wk);
        const V8 wb = V8_AT(wk + 8);
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
      V8_AT(out) = a0;
      V8_AT(out + 8) = b0;
      V8_AT(out + 64) = a1;
      V8_AT(out + 72) = b1;
      V8_AT(out + 128) = a2;
      V8_AT(out + 136) = b2;
      V8_AT(out + 192) = a3;
      V8_AT(out + 200) = b3;
    }
  }
  for (; r < rows; ++r) {
    const float* xr = x + r * in;
    V8 s0 = V8_AT(bias), s1 = V8_AT(bias + 8), s2 = V8_AT(bias + 16), s3 = V8_AT(bias + 24);
    V8 s4 = V8_AT(bias + 32), s5 = V8_AT(bias + 40), s6 = V8_AT(bias + 48), s7 = V8_AT(bias + 56);
    const float* wk = w;
    for (std::size_t k = 0; k < in; ++k, wk += 64) {
      s0 += xr[k] * V8_AT(wk);
      s1 += xr[k] * V8_AT(wk + 8);
      s2 += xr[k] * V8_AT(wk + 16);
      s3 += xr[k] * V8_AT(wk + 24);
      s4 += xr[k] * V8_AT(wk + 32);
      s5 += xr[k] * V8_AT(wk + 40);
      s6 += xr[k] * V8_AT(wk + 48);
      s7 += xr[k] * V8_AT(wk + 56);
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
    float* out = y + r * 64;
    V8_AT(out) = s0;
    V8_AT(out + 8) = s1;
    V8_AT(out + 16) = s2;
    V8_AT(out + 24) = s3;
    V8_AT(out + 32) = s4;
    V8_AT(out + 40) = s5;
    V8_AT(out + 48) = s6;
    V8_AT(out + 56) = s7;
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
    V8 even = V8_AT(y) * V8_AT(v);
    V8 odd = V8_AT(y + 8) * V8_AT(v + 8);
    for (std::size_t c = 16; c < 64; c += 16) {
      even += V8_AT(y + c) * V8_AT(v + c);
      odd += V8_AT(y + c + 8) * V8_AT(v + c + 8);
    }
    even += odd;
    out[r] = ((even[0] + even[4]) + (even[1] + even[5])) + ((even[2] + even[6]) + (even[3] + even[7]));
  }
}

WATTLE_TARGET void pool(const float* y, std::size_t rows, float* sum, float* max) {
  for (std::size_t c = 0; c < 64; c += 8) {
    V8 total = V8_AT(sum + c);
    V8 largest = V8_AT(max + c);
    const float* from = y + c;
    for (std::size_t r = 0; r < rows; ++r, from += 64) {
      const V8 value = V8_AT(from);
      total += value;
      largest = value > largest ? value : largest;
    }
    V8_AT(sum + c) = total;
    V8_AT(max + c) = largest;
  }
}

constexpr Kernels kKernels{dense, dense_relu, dot, pool};
