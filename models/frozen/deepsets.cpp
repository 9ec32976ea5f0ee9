#include "models/frozen/deepsets.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "models/frozen/layout.hpp"

namespace wattle::models {

namespace {

// Number of rows processed together, so that the output of one layer is still in the cache for the next.
constexpr std::size_t kBlock = 64;

struct Scratch {
  std::vector<std::size_t> nodes;  // indices of the valid nodes
  AlignedFloats embeddings;        // [valid x kHidden]
  AlignedFloats advantages;        // [valid]
  alignas(64) std::array<float, kBlock * kNodeFeatures> features;
  alignas(64) std::array<float, kBlock * kHidden> hidden;
};

// Features of the valid nodes [begin, begin + rows): in place if they are contiguous, otherwise copied together.
const float* rows_of(const Observation& observation, Scratch& scratch, std::size_t begin, std::size_t rows) {
  const std::size_t first = scratch.nodes[begin];
  if (scratch.nodes[begin + rows - 1] - first == rows - 1) return &observation.node[first * kNodeFeatures];
  for (std::size_t i = 0; i < rows; ++i)
    std::copy_n(&observation.node[scratch.nodes[begin + i] * kNodeFeatures], kNodeFeatures,
                &scratch.features[i * kNodeFeatures]);
  return scratch.features.data();
}

}  // namespace

void evaluate(const Kernels& kernels, std::span<const float> flat, const Observation& observation,
              std::span<float> out) {
  assert(flat.size() == kParameters && out.size() == observation.nodes);
  assert(observation.node.size() == observation.nodes * kNodeFeatures);
  assert(observation.valid.size() == observation.nodes);
  const auto part = [&](Part which) { return flat.data() + offset_of(which); };
  thread_local Scratch scratch;

  std::fill(out.begin(), out.end(), 0.0F);
  scratch.nodes.clear();
  for (std::size_t i = 0; i < observation.nodes; ++i)
    if (observation.valid[i] != 0) scratch.nodes.push_back(i);
  const std::size_t count = scratch.nodes.size();
  if (count == 0) return;
  scratch.embeddings.resize(count * kHidden);
  scratch.advantages.resize(count);

  alignas(64) std::array<float, kShared> shared{};  // mean, max, ask; max starts at 0, the minimum of relu
  for (std::size_t begin = 0; begin < count; begin += kBlock) {
    const std::size_t rows = std::min(kBlock, count - begin);
    float* embeddings = &scratch.embeddings[begin * kHidden];
    kernels.dense_relu(rows_of(observation, scratch, begin, rows), rows, kNodeFeatures, part(Part::node_0_weight),
                       part(Part::node_0_bias), scratch.hidden.data());
    kernels.dense_relu(scratch.hidden.data(), rows, kHidden, part(Part::node_1_weight), part(Part::node_1_bias),
                       embeddings);
    kernels.pool(embeddings, rows, shared.data(), shared.data() + kHidden);
  }
  const float per_node = 1.0F / static_cast<float>(count);
  for (std::size_t c = 0; c < kHidden; ++c) shared[c] *= per_node;

  std::array<float, kAskFeatures> ask{};
  std::copy(observation.context.begin(), observation.context.end(),
            std::copy(observation.pod.begin(), observation.pod.end(), ask.begin()));
  kernels.dense_relu(ask.data(), 1, kAskFeatures, part(Part::ask_weight), part(Part::ask_bias),
                     shared.data() + 2 * kHidden);

  alignas(64) std::array<float, kHidden> hidden{};
  float value = 0;
  kernels.dense_relu(shared.data(), 1, kShared, part(Part::value_weight), part(Part::value_bias), hidden.data());
  kernels.dot(hidden.data(), 1, part(Part::value_out_weight), &value);
  value += *part(Part::value_out_bias);

  // The part that all nodes share enters the first layer of the head once, as its bias.
  kernels.dense(shared.data(), 1, kShared, part(Part::advantage_shared_weight), part(Part::advantage_bias),
                hidden.data());
  float sum = 0;
  for (std::size_t begin = 0; begin < count; begin += kBlock) {
    const std::size_t rows = std::min(kBlock, count - begin);
    kernels.dense_relu(&scratch.embeddings[begin * kHidden], rows, kHidden, part(Part::advantage_node_weight),
                       hidden.data(), scratch.hidden.data());
    kernels.dot(scratch.hidden.data(), rows, part(Part::advantage_out_weight), &scratch.advantages[begin]);
    for (std::size_t i = 0; i < rows; ++i) sum += scratch.advantages[begin + i];
  }
  const float base = value - sum * per_node;
  for (std::size_t i = 0; i < count; ++i) {
    const float residual = base + scratch.advantages[i];
    out[scratch.nodes[i]] = std::isfinite(residual) ? residual : 0.0F;
  }
}

}  // namespace wattle::models
