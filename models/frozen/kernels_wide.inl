// kernels_wide.inl: implementation of kernels.hpp where four vectors hold all 64 columns: 32 registers take four rows
// at once. The includer defines WATTLE_TARGET and Vec as for kernels.inl. Each row is summed in the same order as
// there.

#define LOAD(pointer) (*reinterpret_cast<const Vec*>(pointer))
#define STORE(pointer) (*reinterpret_cast<Vec*>(pointer))
#define RELU(v) ((v) > zero ? (v) : zero)

WATTLE_TARGET inline void dense_rows(const float* x, std::size_t rows, std::size_t in, const float* w,
                                     const float* bias, float* y, bool relu) {
  const Vec zero{};
  const Vec b0 = LOAD(bias), b1 = LOAD(bias + 16), b2 = LOAD(bias + 32), b3 = LOAD(bias + 48);
  std::size_t r = 0;
  for (; r + 4 <= rows; r += 4) {
    const float* x0 = x + r * in;
    const float* x1 = x0 + in;
    const float* x2 = x1 + in;
    const float* x3 = x2 + in;
    Vec p0 = b0, p1 = b1, p2 = b2, p3 = b3;
    Vec q0 = b0, q1 = b1, q2 = b2, q3 = b3;
    Vec s0 = b0, s1 = b1, s2 = b2, s3 = b3;
    Vec t0 = b0, t1 = b1, t2 = b2, t3 = b3;
    const float* wk = w;
    for (std::size_t k = 0; k < in; ++k, wk += 64) {
      const Vec w0 = LOAD(wk), w1 = LOAD(wk + 16), w2 = LOAD(wk + 32), w3 = LOAD(wk + 48);
      p0 += x0[k] * w0;
      p1 += x0[k] * w1;
      p2 += x0[k] * w2;
      p3 += x0[k] * w3;
      q0 += x1[k] * w0;
      q1 += x1[k] * w1;
      q2 += x1[k] * w2;
      q3 += x1[k] * w3;
      s0 += x2[k] * w0;
      s1 += x2[k] * w1;
      s2 += x2[k] * w2;
      s3 += x2[k] * w3;
      t0 += x3[k] * w0;
      t1 += x3[k] * w1;
      t2 += x3[k] * w2;
      t3 += x3[k] * w3;
    }
    float* out = y + r * 64;
    STORE(out) = relu ? RELU(p0) : p0;
    STORE(out + 16) = relu ? RELU(p1) : p1;
    STORE(out + 32) = relu ? RELU(p2) : p2;
    STORE(out + 48) = relu ? RELU(p3) : p3;
    STORE(out + 64) = relu ? RELU(q0) : q0;
    STORE(out + 80) = relu ? RELU(q1) : q1;
    STORE(out + 96) = relu ? RELU(q2) : q2;
    STORE(out + 112) = relu ? RELU(q3) : q3;
    STORE(out + 128) = relu ? RELU(s0) : s0;
    STORE(out + 144) = relu ? RELU(s1) : s1;
    STORE(out + 160) = relu ? RELU(s2) : s2;
    STORE(out + 176) = relu ? RELU(s3) : s3;
    STORE(out + 192) = relu ? RELU(t0) : t0;
    STORE(out + 208) = relu ? RELU(t1) : t1;
    STORE(out + 224) = relu ? RELU(t2) : t2;
    STORE(out + 240) = relu ? RELU(t3) : t3;
  }
  for (; r < rows; ++r) {
    const float* xr = x + r * in;
    Vec p0 = b0, p1 = b1, p2 = b2, p3 = b3;
    const float* wk = w;
    for (std::size_t k = 0; k < in; ++k, wk += 64) {
      p0 += xr[k] * LOAD(wk);
      p1 += xr[k] * LOAD(wk + 16);
      p2 += xr[k] * LOAD(wk + 32);
      p3 += xr[k] * LOAD(wk + 48);
    }
    float* out = y + r * 64;
    STORE(out) = relu ? RELU(p0) : p0;
    STORE(out + 16) = relu ? RELU(p1) : p1;
    STORE(out + 32) = relu ? RELU(p2) : p2;
    STORE(out + 48) = relu ? RELU(p3) : p3;
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
  const Vec v0 = LOAD(v), v1 = LOAD(v + 16), v2 = LOAD(v + 32), v3 = LOAD(v + 48);
  for (std::size_t r = 0; r < rows; ++r, y += 64) {
    const Vec product = (LOAD(y) * v0 + LOAD(y + 32) * v2) + (LOAD(y + 16) * v1 + LOAD(y + 48) * v3);
    // Adds halves pairwise: a sum of sixteen in sequence would wait for each addition.
    float lane[16];
    for (std::size_t i = 0; i < 16; ++i) lane[i] = product[i];
    for (std::size_t width = 8; width > 0; width /= 2)
      for (std::size_t i = 0; i < width; ++i) lane[i] += lane[i + width];
    out[r] = lane[0];
  }
}

WATTLE_TARGET void pool(const float* y, std::size_t rows, float* sum, float* max) {
  Vec s0 = LOAD(sum), s1 = LOAD(sum + 16), s2 = LOAD(sum + 32), s3 = LOAD(sum + 48);
  Vec m0 = LOAD(max), m1 = LOAD(max + 16), m2 = LOAD(max + 32), m3 = LOAD(max + 48);
  for (std::size_t r = 0; r < rows; ++r, y += 64) {
    const Vec y0 = LOAD(y), y1 = LOAD(y + 16), y2 = LOAD(y + 32), y3 = LOAD(y + 48);
    s0 += y0;
    s1 += y1;
    s2 += y2;
    s3 += y3;
    m0 = y0 > m0 ? y0 : m0;
    m1 = y1 > m1 ? y1 : m1;
    m2 = y2 > m2 ? y2 : m2;
    m3 = y3 > m3 ? y3 : m3;
  }
  STORE(sum) = s0;
  STORE(sum + 16) = s1;
  STORE(sum + 32) = s2;
  STORE(sum + 48) = s3;
  STORE(max) = m0;
  STORE(max + 16) = m1;
  STORE(max + 32) = m2;
  STORE(max + 48) = m3;
}

constexpr Kernels kKernels{dense, dense_relu, dot, pool};

#undef LOAD
#undef STORE
#undef RELU
