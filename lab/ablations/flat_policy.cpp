#include "lab/ablations/flat_policy.hpp"

#include <array>
#include <cmath>
#include <random>

#include "models/frozen/layout.hpp"
#include "models/torch/adam.hpp"
#include "models/torch/libtorch.hpp"

namespace wattle::models {

namespace {

constexpr std::size_t kPerNode = kNodeFeatures + 1;  // node features, and whether it is valid

struct Shape {
  std::size_t nodes = 0, hidden = 0;
  std::size_t inputs() const { return nodes * kPerNode + kAskFeatures; }
  // [in x out] and bias, layer by layer.
  std::array<std::pair<std::size_t, std::size_t>, 3> layers() const {
    return {{{inputs(), hidden}, {hidden, hidden}, {hidden, nodes}}};
  }
  std::size_t parameters() const {
    std::size_t sum = 0;
    for (const auto& [in, out] : layers()) sum += (in + 1) * out;
    return sum;
  }
};

void write_input(const Observation& state, const Shape& shape, float* out) {
  std::fill(out, out + shape.inputs(), 0.0F);
  for (std::size_t i = 0; i < state.nodes; ++i) {
    if (state.valid[i] == 0) continue;
    std::copy_n(&state.node[i * kNodeFeatures], kNodeFeatures, out + i * kPerNode);
    out[i * kPerNode + kNodeFeatures] = 1;
  }
  float* ask = out + shape.nodes * kPerNode;
  std::copy(state.context.begin(), state.context.end(), std::copy(state.pod.begin(), state.pod.end(), ask));
}

class FlatNetwork final : public QNetwork {
 public:
  FlatNetwork(Shape shape, AlignedFloats weights, std::uint64_t step)
      : shape_(shape), weights_(std::move(weights)), step_(step) {}
  void residual(const Observation& state, std::span<float> out) const override {
    std::fill(out.begin(), out.end(), 0.0F);
    if (state.nodes > shape_.nodes) return;
    std::vector<float> at(shape_.inputs());
    write_input(state, shape_, at.data());
    const float* weight = weights_.data();
    for (const auto& [in, width] : shape_.layers()) {
      std::vector<float> next(weight + in * width, weight + in * width + width);
      for (std::size_t i = 0; i < in; ++i)
        for (std::size_t k = 0; k < width; ++k) next[k] += at[i] * weight[i * width + k];
      weight += (in + 1) * width;
      if (width != shape_.nodes || weight != weights_.data() + weights_.size())
        for (float& value : next) value = std::max(value, 0.0F);
      at = std::move(next);
    }
    for (std::size_t i = 0; i < state.nodes; ++i)
      if (state.valid[i] != 0) out[i] = at[i];
  }
  std::uint64_t step() const override { return step_; }

 private:
  Shape shape_;
  AlignedFloats weights_;
  std::uint64_t step_;
};

class TorchFlatPolicy final : public FlatPolicy {
 public:
  TorchFlatPolicy(const TrainerOptions& options, Shape shape) : options_(options), shape_(shape) {
    weights_.resize(shape.parameters());
    gradient_.resize(weights_.size());
    adam_.mean.resize(weights_.size());
    adam_.square.resize(weights_.size());
    std::mt19937_64 random(options.seed);
    std::size_t at = 0;
    for (const auto& [in, out] : shape.layers()) {
      // Same as layout.cpp: uniform in +-1/sqrt(in), the last layer 0.
      const bool last = at + (in + 1) * out == weights_.size();
      const double bound = last ? 0.0 : 1.0 / std::sqrt(static_cast<double>(in));
      for (std::size_t i = 0; i < (in + 1) * out; ++i)
        weights_[at + i] = static_cast<float>((2 * (static_cast<double>(random() >> 11U) * 0x1p-53) - 1) * bound);
      window(at, {dim(in), dim(out)});
      window(at + in * out, {dim(out)});
      at += (in + 1) * out;
    }
  }

  Result<PolicyStats> imitate(std::span<const PolicyExample* const> examples, double temperature) override {
    const std::size_t size = examples.size(), n = shape_.nodes;
    AlignedFloats input(size * shape_.inputs()), prior(size * n, 0.0F), target(size * n, 0.0F), barred(size * n, -1e9F),
        cost(size * n, 0.0F);
    for (std::size_t b = 0; b < size; ++b) {
      const PolicyExample& each = *examples[b];
      if (each.state.nodes > n)
        return fail(Errc::out_of_range, "flat network", "was made for " + std::to_string(n) + " nodes",
                    "use labels of fleets of at most that size");
      write_input(each.state, shape_, &input[b * shape_.inputs()]);
      for (std::size_t i = 0; i < each.state.nodes; ++i) {
        prior[b * n + i] = each.state.prior[i];
        target[b * n + i] = each.target[i];
        if (each.tried[i] == 0) continue;
        barred[b * n + i] = 0;
        if (!each.cost.empty()) cost[b * n + i] = each.cost[i];
      }
    }
    std::fill(gradient_.begin(), gradient_.end(), 0.0F);
    PolicyStats stats;
    try {
      const auto over = [&](AlignedFloats& data, std::size_t width) {
        return at::from_blob(data.data(), {dim(size), dim(width)}, at::kFloat);
      };
      const at::Tensor first = at::addmm(tensors_[1], over(input, shape_.inputs()), tensors_[0]).relu_();
      const at::Tensor second = at::addmm(tensors_[3], first, tensors_[2]).relu_();
      const at::Tensor advantage = at::addmm(tensors_[5], second, tensors_[4]);
      const at::Tensor likely = at::log_softmax((advantage + over(prior, n)) / temperature + over(barred, n), 1);
      const at::Tensor wanted = over(target, n);
      const at::Tensor loss =
          ((likely.exp() * over(cost, n)).sum() - (wanted * likely).sum()) / static_cast<double>(size);
      loss.backward();
      const at::Tensor entropy = -(wanted * at::log(at::clamp_min(wanted, 1e-30))).sum() / static_cast<double>(size);
      stats.loss = loss.item<double>() - entropy.item<double>();
      stats.agreement = (likely.argmax(1) == wanted.argmax(1)).to(at::kFloat).mean().item<double>();
    } catch (const std::exception& error) {
      return fail(Errc::exhausted, "libtorch", error.what());
    }
    stats.grad_norm = norm(gradient_);
    if (!std::isfinite(stats.loss) || !std::isfinite(stats.grad_norm))
      return fail(Errc::out_of_range, "flat network", "its loss or gradient is not finite", "lower the learning rate");
    const double scale = stats.grad_norm > options_.clip_norm ? options_.clip_norm / stats.grad_norm : 1.0;
    adam_step(weights_, gradient_, static_cast<float>(scale), options_.learning_rate, adam_);
    stats.step = adam_.step;
    return stats;
  }

  std::shared_ptr<const QNetwork> network() const override {
    return std::make_shared<FlatNetwork>(shape_, weights_, adam_.step);
  }
  Result<StepStats> step(std::span<const Transition* const>) override { return unsupported(); }
  std::uint64_t steps() const override { return adam_.step; }
  Weights weights() const override { return {}; }
  Weights checkpoint() const override { return {}; }
  Status restore(const Weights&) override { return unsupported(); }

 private:
  static std::int64_t dim(std::size_t size) { return static_cast<std::int64_t>(size); }
  static tl::unexpected<Error> unsupported() {
    return fail(Errc::unsupported, "flat network", "learns only by imitation and cannot be saved",
                "use the DeepSets network");
  }
  void window(std::size_t at, at::IntArrayRef shape) {
    at::Tensor tensor = at::from_blob(&weights_[at], shape, at::kFloat);
    tensor.set_requires_grad(true);
    tensor.mutable_grad() = at::from_blob(&gradient_[at], shape, at::kFloat);
    tensors_.push_back(std::move(tensor));
  }

  TrainerOptions options_;
  Shape shape_;
  AlignedFloats weights_, gradient_;
  AdamState adam_;
  std::vector<at::Tensor> tensors_;  // weight and bias, layer by layer
};

}  // namespace

Result<std::unique_ptr<FlatPolicy>> make_flat_policy(const TrainerOptions& options, std::size_t most_nodes,
                                                     std::size_t hidden) {
  if (most_nodes == 0 || hidden == 0)
    return fail(Errc::out_of_range, "flat network", "has no nodes or no hidden units", "use at least 1 of each");
  try {
    return std::unique_ptr<FlatPolicy>(std::make_unique<TorchFlatPolicy>(options, Shape{most_nodes, hidden}));
  } catch (const std::exception& error) {
    return fail(Errc::unsupported, "libtorch", error.what());
  }
}

}  // namespace wattle::models
