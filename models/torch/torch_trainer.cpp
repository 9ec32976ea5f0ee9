#include "models/torch/torch_trainer.hpp"

#include <dlfcn.h>

#include <cmath>

#include "models/frozen/deepsets.hpp"
#include "models/frozen/layout.hpp"
#include "models/torch/adam.hpp"
#include "models/torch/batch.hpp"
#include "models/torch/libtorch.hpp"

namespace wattle::models {

namespace {

constexpr const char* kStepTensor = "adam.step";
constexpr double kStepBase = 16777216;  // 2^24: integers below it are exact in a float

std::int64_t dim(std::size_t size) { return static_cast<std::int64_t>(size); }

// A tensor over our memory, which must outlive it.
at::Tensor over(float* data, at::IntArrayRef shape) { return at::from_blob(data, shape, at::kFloat); }

// A second thread costs more than it gains with matrices of this size, and sums would depend on the machine.
void use_one_thread() {
  at::set_num_threads(1);
  // Debian's libtorch calls OpenBLAS, whose threads libtorch does not control; other BLAS libraries lack this function.
  if (void* found = ::dlsym(RTLD_DEFAULT, "openblas_set_num_threads")) reinterpret_cast<void (*)(int)>(found)(1);
  // OpenBLAS starts a thread per core of the machine when it is loaded, regardless of the container's limit.
  if (void* found = ::dlsym(RTLD_DEFAULT, "blas_thread_shutdown_")) reinterpret_cast<int (*)()>(found)();
}

class TorchTrainer final : public PolicyTrainer {
 public:
  TorchTrainer(const TrainerOptions& options, AlignedFloats online)
      : options_(options), kernels_(best_kernels()), online_(std::move(online)), target_(online_) {
    gradient_.resize(kParameters);
    adam_.mean.resize(kParameters);
    adam_.square.resize(kParameters);
    // Every tensor and its gradient are views of flat arrays, so that the work after backward() is one pass over each
    // array.
    for (std::size_t i = 0; i < kLayout.size(); ++i) {
      const TensorSpec& spec = kLayout[i];
      const std::size_t offset = offset_of(static_cast<Part>(i));
      std::vector<std::int64_t> shape{dim(spec.cols)};
      if (spec.rows != 0) shape.insert(shape.begin(), dim(spec.rows));
      parameters_[i] = over(&online_[offset], shape);
      parameters_[i].set_requires_grad(true);
      parameters_[i].mutable_grad() = over(&gradient_[offset], shape);
    }
  }

  Result<StepStats> step(std::span<const Transition* const> transitions) override {
    WATTLE_CHECK(batch_.assemble(transitions));
    targets_.resize(batch_.size);
    for (std::size_t b = 0; b < batch_.size; ++b) targets_[b] = target_of(*transitions[b]) - batch_.prior[b];
    StepStats stats;
    try {
      backward(stats, static_cast<double>(transitions.front()->unit));
    } catch (const std::exception& error) {
      return fail(Errc::exhausted, "libtorch", error.what());
    }
    WATTLE_TRY(stats.grad_norm, descend(stats.loss));
    follow(target_, online_, options_.polyak);
    stats.step = adam_.step;
    return stats;
  }

  Result<PolicyStats> imitate(std::span<const PolicyExample* const> examples, double temperature) override {
    if (!(std::isfinite(temperature) && temperature > 0))
      return fail(Errc::out_of_range, "temperature", "is " + std::to_string(temperature), "must be above 0");
    WATTLE_CHECK(batch_.assemble(examples));
    PolicyStats stats;
    try {
      backward(stats, temperature);
    } catch (const std::exception& error) {
      return fail(Errc::exhausted, "libtorch", error.what());
    }
    WATTLE_TRY(stats.grad_norm, descend(stats.loss));
    stats.step = adam_.step;
    return stats;
  }

  std::uint64_t steps() const override { return adam_.step; }

  Weights weights() const override {
    Weights weights;
    unflatten(online_, {}, weights);
    return weights;
  }

  Weights checkpoint() const override {
    Weights all;
    unflatten(online_, "online.", all);
    unflatten(target_, "target.", all);
    unflatten(adam_.mean, "adam.mean.", all);
    unflatten(adam_.square, "adam.square.", all);
    const double step = static_cast<double>(adam_.step);
    const double high = std::floor(step / kStepBase);
    all[kStepTensor] = {{2}, {static_cast<float>(high), static_cast<float>(step - high * kStepBase)}};
    return all;
  }

  Status restore(const Weights& checkpoint) override {
    const std::string subject = "trainer checkpoint";
    WATTLE_TRY(const AlignedFloats online, flatten(checkpoint, subject, "online."));
    WATTLE_TRY(const AlignedFloats target, flatten(checkpoint, subject, "target."));
    WATTLE_TRY(const AlignedFloats mean, flatten(checkpoint, subject, "adam.mean."));
    WATTLE_TRY(const AlignedFloats square, flatten(checkpoint, subject, "adam.square."));
    const auto step = checkpoint.find(kStepTensor);
    if (step == checkpoint.end() || step->second.values.size() != 2)
      return fail(Errc::malformed, subject, std::string("tensor ") + kStepTensor + " is missing or not of shape [2]");
    const double high = static_cast<double>(step->second.values[0]);
    const double low = static_cast<double>(step->second.values[1]);
    const auto digit = [](double v) { return v >= 0 && v < kStepBase && v == std::floor(v); };
    if (!digit(high) || !digit(low))
      return fail(Errc::malformed, subject, std::string("tensor ") + kStepTensor + " is not a number of steps");
    if (checkpoint.size() != 4 * kLayout.size() + 1)
      return fail(Errc::malformed, subject, "has tensors that are neither online., target. nor adam.");
    for (const float s : square)
      if (s < 0) return fail(Errc::malformed, subject, "adam.square has a negative value");
    // Copied, not moved: autograd's tensors are views of these arrays.
    std::copy(online.begin(), online.end(), online_.begin());
    std::copy(target.begin(), target.end(), target_.begin());
    std::copy(mean.begin(), mean.end(), adam_.mean.begin());
    std::copy(square.begin(), square.end(), adam_.square.begin());
    adam_.step = static_cast<std::uint64_t>(high * kStepBase + low);
    return {};
  }

 private:
  const at::Tensor& parameter(Part part) const { return parameters_[static_cast<std::size_t>(part)]; }

  // Runs one step of Adam along gradient_; returns its norm before clipping. Changes nothing if a value is not finite.
  Result<double> descend(double loss) {
    const double length = norm(gradient_);
    if (!std::isfinite(loss) || !std::isfinite(length))
      return fail(
          Errc::out_of_range, "training step " + std::to_string(adam_.step + 1),
          "loss " + std::to_string(loss) + ", gradient norm " + std::to_string(length) + "; the weights are unchanged",
          "lower the learning rate, or scale features and rewards");
    const double scale = length > options_.clip_norm ? options_.clip_norm / length : 1.0;
    adam_step(online_, gradient_, static_cast<float>(scale), options_.learning_rate, adam_);
    return length;
  }

  // Double DQN: the online network chooses among the valid nodes, the target network evaluates. No gradient is needed,
  // so the serving kernels compute it.
  float target_of(const Transition& t) {
    if (t.discount <= 0.0F) return t.reward;
    residual_.resize(t.next.nodes);
    evaluate(kernels_, online_, t.next, residual_);
    std::size_t best = t.next.nodes;
    for (std::size_t i = 0; i < t.next.nodes; ++i)
      if (t.next.valid[i] != 0 &&
          (best == t.next.nodes || residual_[i] + t.next.prior[i] > residual_[best] + t.next.prior[best]))
        best = i;
    evaluate(kernels_, target_, t.next, residual_);
    return t.reward + t.discount * (t.next.prior[best] + residual_[best]);
  }

  struct Forward {
    at::Tensor value;      // [B]
    at::Tensor advantage;  // [B, N], minus its mean over valid nodes
  };
  // Evaluates the network on the batch. [B] below is the batch size, [N] its width, [H] kHidden.
  Forward forward() {
    const std::int64_t size = dim(batch_.size);
    const std::int64_t width = dim(batch_.width);
    const std::int64_t hidden = dim(kHidden);
    const at::Tensor node = over(batch_.node.data(), {size * width, dim(kNodeFeatures)});
    const at::Tensor ask = over(batch_.ask.data(), {size, dim(kAskFeatures)});
    const at::Tensor share = over(batch_.share.data(), {size, width, 1});

    const auto dense = [this](const at::Tensor& x, Part weight, Part bias) {
      return at::addmm(parameter(bias), x, parameter(weight));
    };
    const at::Tensor first = dense(node, Part::node_0_weight, Part::node_0_bias).relu_();
    const at::Tensor embedding = dense(first, Part::node_1_weight, Part::node_1_bias).relu_();  // [B*N, H]
    const at::Tensor by_decision = embedding.view({size, width, hidden});
    // Avoids bmm, which without MKL loops over decisions, and max(dim), which is not vectorised.
    const at::Tensor mean = (by_decision * share).sum(1);  // [B, H]
    const at::Tensor max = by_decision.amax(1);            // [B, H]; padding repeats a valid node
    const at::Tensor asked = dense(ask, Part::ask_weight, Part::ask_bias).relu_();  // [B, H]
    const at::Tensor shared = at::cat({mean, max, asked}, 1);                       // [B, 3H]
    const at::Tensor value_hidden = dense(shared, Part::value_weight, Part::value_bias).relu_();
    const at::Tensor value = at::mv(value_hidden, parameter(Part::value_out_weight)) + parameter(Part::value_out_bias);
    const at::Tensor from_shared = dense(shared, Part::advantage_shared_weight, Part::advantage_bias);
    const at::Tensor from_node = at::mm(embedding, parameter(Part::advantage_node_weight)).view({size, width, hidden});
    const at::Tensor head = (from_node + from_shared.unsqueeze(1)).relu_().view({size * width, hidden});
    const at::Tensor advantage = at::mv(head, parameter(Part::advantage_out_weight)).view({size, width});
    return {value, advantage - (advantage * share.view({size, width})).sum(1, true)};
  }

  // Fills gradient_ and the fields of `stats` that depend on the batch.
  void backward(StepStats& stats, double unit) {
    const std::int64_t size = dim(batch_.size);
    const at::Tensor action = at::from_blob(batch_.action.data(), {size, 1}, at::kLong);
    const at::Tensor target = over(targets_.data(), {size, 1});
    std::fill(gradient_.begin(), gradient_.end(), 0.0F);
    const Forward out = forward();
    const at::Tensor residual = out.value.unsqueeze(1) + out.advantage.gather(1, action);  // [B, 1]
    const at::Tensor loss = at::huber_loss(residual / unit, target / unit, at::Reduction::Mean, options_.huber_delta);
    loss.backward();

    stats.loss = loss.item<double>();
    const float* learned = residual.data_ptr<float>();
    for (std::size_t b = 0; b < batch_.size; ++b) {
      const double q = static_cast<double>(learned[b]) + static_cast<double>(batch_.prior[b]);
      stats.mean_q += q / static_cast<double>(batch_.size);
      stats.max_abs_q = std::max(stats.max_abs_q, std::abs(q));
      const double error = static_cast<double>(targets_[b]) - static_cast<double>(learned[b]);
      stats.mean_error += error / static_cast<double>(batch_.size);
      stats.error2 += error * error / static_cast<double>(batch_.size);
    }
  }

  void backward(PolicyStats& stats, double temperature) {
    const std::int64_t size = dim(batch_.size);
    const std::int64_t width = dim(batch_.width);
    const at::Tensor prior = over(batch_.prior.data(), {size, width});
    const at::Tensor barred = over(batch_.barred.data(), {size, width});
    const at::Tensor target = over(batch_.target.data(), {size, width});
    std::fill(gradient_.begin(), gradient_.end(), 0.0F);
    const at::Tensor likely = at::log_softmax((forward().advantage + prior) / temperature + barred, 1);
    // Barred nodes have target 0; their log-likelihood of about -1e9 is finite.
    const at::Tensor crossed = -(target * likely).sum() / static_cast<double>(size);
    const at::Tensor loss =
        crossed + (likely.exp() * over(batch_.cost.data(), {size, width})).sum() / static_cast<double>(size);
    loss.backward();

    const at::Tensor entropy = -(target * at::log(at::clamp_min(target, 1e-30))).sum() / static_cast<double>(size);
    stats.loss = loss.item<double>() - entropy.item<double>();
    stats.agreement = (likely.argmax(1) == target.argmax(1)).to(at::kFloat).mean().item<double>();
  }

  TrainerOptions options_;
  const Kernels& kernels_;
  AlignedFloats online_;
  AlignedFloats target_;
  AlignedFloats gradient_;
  AdamState adam_;
  std::array<at::Tensor, kLayout.size()> parameters_;
  Batch batch_;
  AlignedFloats targets_;   // [size], minus the prior of the action
  AlignedFloats residual_;  // [nodes of the next decision]
};

Status check(const TrainerOptions& o) {
  const auto bad = [](const char* name, double value, const char* fix) {
    return fail(Errc::out_of_range, std::string("trainer option ") + name, "is " + std::to_string(value), fix);
  };
  const auto positive = [](double v) { return std::isfinite(v) && v > 0; };
  if (!positive(o.learning_rate)) return bad("learning_rate", o.learning_rate, "must be above 0");
  if (!positive(o.huber_delta)) return bad("huber_delta", o.huber_delta, "must be above 0");
  if (!positive(o.clip_norm)) return bad("clip_norm", o.clip_norm, "must be above 0");
  if (!(o.polyak >= 0 && o.polyak <= 1)) return bad("polyak", o.polyak, "must be within 0..1");
  return {};
}

}  // namespace

Result<std::unique_ptr<PolicyTrainer>> make_torch_policy_trainer(const TrainerOptions& options,
                                                                 const std::optional<Weights>& initial) {
  WATTLE_CHECK(check(options));
  WATTLE_TRY(AlignedFloats online,
             flatten(initial ? *initial : initial_weights(options.seed), "initial weights of the trainer"));
  use_one_thread();
  try {
    return std::unique_ptr<PolicyTrainer>(std::make_unique<TorchTrainer>(options, std::move(online)));
  } catch (const std::exception& error) {
    return fail(Errc::unsupported, "libtorch", error.what());
  }
}

Result<std::unique_ptr<QTrainer>> make_torch_trainer(const TrainerOptions& options,
                                                     const std::optional<Weights>& initial) {
  WATTLE_TRY(std::unique_ptr<PolicyTrainer> trainer, make_torch_policy_trainer(options, initial));
  return std::unique_ptr<QTrainer>(std::move(trainer));
}

}  // namespace wattle::models
