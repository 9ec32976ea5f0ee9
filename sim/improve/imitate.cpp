#include "sim/improve/imitate.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numeric>

#include "models/frozen/layout.hpp"
#include "placement/decide/policies/network.hpp"
#include "placement/worth/features.hpp"
#include "sim/world/random.hpp"

namespace wattle::sim::consolidation {

namespace {

// Softmax of the tried nodes by value; 0 for others.
std::vector<float> softmax(const Label& label, const std::function<double(std::size_t)>& value, double temperature) {
  double highest = -1e300, sum = 0;
  const std::size_t n = label.state.nodes;
  std::vector<float> out(n, 0.0F);
  for (std::size_t i = 0; i < n; ++i)
    if (!std::isnan(label.regret[i])) highest = std::max(highest, value(i));
  for (std::size_t i = 0; i < n; ++i) {
    if (std::isnan(label.regret[i])) continue;
    const double e = std::exp((value(i) - highest) / temperature);
    out[i] = static_cast<float>(e);
    sum += e;
  }
  for (float& each : out) each /= static_cast<float>(sum);
  return out;
}

std::vector<float> residual_of(const models::QNetwork* network, const models::Observation& state) {
  std::vector<float> out(state.nodes, 0.0F);
  if (network) network->residual(state, out);
  return out;
}

// The mean of weights over time.
class MeanWeights {
 public:
  void add(const models::Weights& weights) {
    if (sum_.empty()) sum_.resize(weights.size());
    std::size_t k = 0;
    for (const auto& [name, tensor] : weights) {
      auto& sum = sum_[k++];
      sum.resize(tensor.values.size());
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += static_cast<double>(tensor.values[i]);
    }
    ++count_;
  }
  // Returns the mean in the shapes of `weights`; `weights` itself if none were added.
  models::Weights mean(models::Weights weights) const {
    if (count_ == 0) return weights;
    std::size_t k = 0;
    for (auto& [name, tensor] : weights) {
      const auto& sum = sum_[k++];
      for (std::size_t i = 0; i < sum.size(); ++i)
        tensor.values[i] = static_cast<float>(sum[i] / static_cast<double>(count_));
    }
    return weights;
  }

 private:
  std::vector<std::vector<double>> sum_;
  std::size_t count_ = 0;
};

// `values` has consecutive rows of inputs. Removes the row of `weight` of each constant input.
void silence(std::span<const float> values, std::size_t width, models::Tensor& weight, models::Tensor& bias) {
  const std::size_t outputs = bias.values.size();
  for (std::size_t input = 0; input < width; ++input) {
    bool constant = true;
    for (std::size_t at = input; at < values.size() && constant; at += width) constant = values[at] == values[input];
    if (!constant) continue;
    for (std::size_t k = 0; k < outputs; ++k) {
      float& each = weight.values[input * outputs + k];
      bias.values[k] += values[input] * each;
      each = 0;
    }
  }
}

constexpr std::size_t kPlanKnown = 10, kLife = 14;  // in the pod features
constexpr float kLeastLife = 1.0F / 128;            // 5.4 s
constexpr float kMostLife = 4;                      // of the feature
constexpr std::size_t kNodes = 5;                   // in the context: log2(nodes) / 12
constexpr float kBeyond = 1.0F / 1024;              // less than one node of 118
constexpr float kShut = -1e6F;
constexpr std::size_t kGate = 0;  // the unit

// When it is above 0, this unit of the ask encoder switches off every hidden unit of both heads.
void shut_heads(models::Weights& weights, std::size_t unit) {
  for (const char* head : {"advantage.shared.weight", "value.weight"}) {
    auto& values = weights.at(head).values;
    std::fill_n(values.begin() + static_cast<std::ptrdiff_t>((2 * models::kHidden + unit) * models::kHidden),
                models::kHidden, kShut);
  }
}

// Returns the input of a label to a unit of the ask encoder.
double excitement(const models::Weights& weights, std::size_t unit, const models::Observation& state) {
  const auto& weight = weights.at("ask.weight").values;
  double sum = static_cast<double>(weights.at("ask.bias").values[unit]);
  for (std::size_t i = 0; i < models::kAskFeatures; ++i) {
    const float value = i < models::kPodFeatures ? state.pod[i] : state.context[i - models::kPodFeatures];
    sum += static_cast<double>(value) * static_cast<double>(weight[i * models::kHidden + unit]);
  }
  return sum;
}

}  // namespace

models::PolicyExample example_of(const Label& label, const ImitateOptions& options) {
  models::PolicyExample example;
  example.state = label.state;
  for (const float regret : label.regret) example.tried.push_back(std::isnan(regret) ? 0 : 1);
  example.target = softmax(
      label, [&](std::size_t i) { return -static_cast<double>(label.regret[i]); }, options.temperature);
  if (options.regret_weight > 0)
    for (const float regret : label.regret)
      example.cost.push_back(
          std::isnan(regret) ? 0 : regret * static_cast<float>(options.regret_weight / options.temperature));
  if (options.anchor_share <= 0) return example;
  const std::vector<float> residual = residual_of(options.anchor.get(), label.state);
  const std::vector<float> anchor = softmax(
      label, [&](std::size_t i) { return static_cast<double>(label.state.prior[i] + residual[i]); },
      options.temperature);
  const auto share = static_cast<float>(options.anchor_share);
  for (std::size_t i = 0; i < anchor.size(); ++i)
    example.target[i] = (1 - share) * example.target[i] + share * anchor[i];
  return example;
}

Result<ImitateFigures> imitate(std::span<const Label> labels, const ImitateOptions& options,
                               models::PolicyTrainer& trainer) {
  if (labels.empty()) return fail(Errc::out_of_range, "labels", "there are none", "more episodes");
  std::vector<models::PolicyExample> examples;
  for (const Label& label : labels) examples.push_back(example_of(label, options));
  std::vector<std::size_t> order(examples.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  Random random(mix(options.seed, 0x696d6974ULL));
  ImitateFigures figures;
  MeanWeights averaged;
  constexpr std::uint64_t kEvery = 8;  // steps between averaged weights
  const std::uint64_t half = options.epochs * ((examples.size() + options.batch - 1) / options.batch) / 2;
  std::uint64_t step = 0;
  std::vector<const models::PolicyExample*> batch;
  for (std::size_t epoch = 0; epoch < options.epochs; ++epoch) {
    for (std::size_t k = order.size(); k > 1; --k) std::swap(order[k - 1], order[pick(random, k)]);
    figures.loss = figures.agreement = 0;
    for (std::size_t from = 0; from < order.size(); from += options.batch) {
      batch.clear();
      for (std::size_t k = from; k < std::min(order.size(), from + options.batch); ++k)
        batch.push_back(&examples[order[k]]);
      WATTLE_TRY(const models::PolicyStats stats, trainer.imitate(batch, options.temperature));
      const double part = static_cast<double>(batch.size()) / static_cast<double>(order.size());
      figures.loss += part * stats.loss;
      figures.agreement += part * stats.agreement;
      figures.steps = stats.step;
      if (options.average && ++step >= half && step % kEvery == 0) averaged.add(trainer.weights());
    }
    if (options.on_pass) WATTLE_CHECK(options.on_pass());
  }
  figures.weights = averaged.mean(trainer.weights());
  return figures;
}

std::vector<double> regrets_of(std::span<const Label> labels, const models::QNetwork* network) {
  std::vector<double> regrets;
  for (const Label& label : labels) {
    const std::vector<float> residual = residual_of(network, label.state);
    std::size_t best = label.state.nodes;
    for (std::size_t i = 0; i < label.state.nodes; ++i) {
      if (std::isnan(label.regret[i])) continue;
      if (best == label.state.nodes || label.state.prior[i] + residual[i] > label.state.prior[best] + residual[best])
        best = i;
    }
    regrets.push_back(static_cast<double>(label.regret[best]));
  }
  return regrets;
}

double mean_regret(std::span<const Label> labels, const models::QNetwork* network) {
  return labels.empty() ? 0 : mean(regrets_of(labels, network));
}

void silence_constant_inputs(models::Weights& weights, std::span<const Label> labels) {
  if (labels.empty()) return;
  std::vector<float> nodes, asks;
  for (const Label& label : labels) {
    nodes.insert(nodes.end(), label.state.node.begin(), label.state.node.end());
    asks.insert(asks.end(), label.state.pod.begin(), label.state.pod.end());
    asks.insert(asks.end(), label.state.context.begin(), label.state.context.end());
  }
  silence(nodes, models::kNodeFeatures, weights.at("node.0.weight"), weights.at("node.0.bias"));
  silence(asks, models::kAskFeatures, weights.at("ask.weight"), weights.at("ask.bias"));
}

Taught taught_by(std::span<const Label> labels) {
  assert(placement::kPodFeatureSpecs[kPlanKnown].name == "plan_known");
  assert(placement::kPodFeatureSpecs[kLife].name == "life");
  const auto all = [&](std::size_t feature, float least) {
    return !labels.empty() && std::all_of(labels.begin(), labels.end(),
                                          [&](const Label& label) { return label.state.pod[feature] >= least; });
  };
  return {all(kPlanKnown, 1), all(kLife, kLeastLife)};
}

void reserve_gate(models::Weights& initial) {
  auto& weight = initial.at("ask.weight").values;
  for (std::size_t input = 0; input < models::kAskFeatures; ++input) weight[input * models::kHidden + kGate] = 0;
  initial.at("ask.bias").values[kGate] = 0;  // relu gives 0 there, and no gradient
}

void close_untaught(models::Weights& weights, Taught taught) {
  if (!taught.plan && !taught.life) return;
  // relu(bias - of_plan x plan_known - life): 0 if both are known; even a long lifetime does not compensate for a
  // missing plan.
  const float of_life = taught.life ? 1 : 0, of_plan = taught.plan ? kMostLife + 1 - of_life * kLeastLife : 0;
  weights.at("ask.weight").values[kPlanKnown * models::kHidden + kGate] = -of_plan;
  weights.at("ask.weight").values[kLife * models::kHidden + kGate] = -of_life;
  weights.at("ask.bias").values[kGate] = of_plan + of_life * kLeastLife;
  shut_heads(weights, kGate);
}

bool close_beyond_taught_size(models::Weights& weights, std::span<const Label> labels) {
  assert(placement::kContextFeatureSpecs[kNodes].name == "nodes");
  std::size_t quietest = 0;
  double least = 0;
  for (std::size_t unit = 1; unit < models::kHidden; ++unit) {
    double most = -std::numeric_limits<double>::infinity();
    for (const Label& label : labels) most = std::max(most, excitement(weights, unit, label.state));
    if (most >= least) continue;
    quietest = unit;
    least = most;
  }
  if (quietest == 0 || labels.empty()) return false;
  float largest = 0;
  for (const Label& label : labels) largest = std::max(largest, label.state.context[kNodes]);
  for (std::size_t i = 0; i < models::kAskFeatures; ++i)
    weights.at("ask.weight").values[i * models::kHidden + quietest] = i == models::kPodFeatures + kNodes ? 1.0F : 0.0F;
  weights.at("ask.bias").values[quietest] = -(largest + kBeyond);
  shut_heads(weights, quietest);
  return true;
}

models::Weights to_tensors(std::span<const Label> labels) {
  models::Tensor counts, ask, node, prior, valid, regret;
  for (const Label& label : labels) {
    const models::Observation& state = label.state;
    counts.values.push_back(static_cast<float>(state.nodes));
    ask.values.insert(ask.values.end(), state.pod.begin(), state.pod.end());
    ask.values.insert(ask.values.end(), state.context.begin(), state.context.end());
    node.values.insert(node.values.end(), state.node.begin(), state.node.end());
    prior.values.insert(prior.values.end(), state.prior.begin(), state.prior.end());
    for (std::size_t i = 0; i < state.nodes; ++i) {
      valid.values.push_back(state.valid[i] != 0 ? 1.0F : 0.0F);
      regret.values.push_back(std::isnan(label.regret[i]) ? -1.0F : label.regret[i]);  // regrets are not negative
    }
  }
  models::Weights tensors;
  const auto put = [&](const char* name, models::Tensor& tensor) {
    tensor.shape = {static_cast<std::int64_t>(tensor.values.size())};
    tensors[name] = std::move(tensor);
  };
  put("nodes", counts);
  put("ask", ask);
  put("node", node);
  put("prior", prior);
  put("valid", valid);
  put("regret", regret);
  return tensors;
}

Result<std::vector<Label>> parse_labels(const models::Weights& tensors, const std::string& subject) {
  constexpr std::size_t kAsk = models::kPodFeatures + models::kContextFeatures;
  for (const char* name : {"nodes", "ask", "node", "prior", "valid", "regret"})
    if (!tensors.contains(name)) return fail(Errc::malformed, subject, std::string("tensor ") + name + " is missing");
  const auto values = [&](const char* name) -> const std::vector<float>& { return tensors.at(name).values; };
  double rows = 0;
  for (const float count : values("nodes")) {
    if (!(count >= 1 && count <= 1e6F)) return fail(Errc::malformed, subject, "a number of nodes is not within 1..1e6");
    rows += static_cast<double>(count);
  }
  const auto total = static_cast<std::size_t>(rows), labels = values("nodes").size();
  if (values("ask").size() != labels * kAsk || values("node").size() != total * models::kNodeFeatures ||
      values("prior").size() != total || values("valid").size() != total || values("regret").size() != total)
    return fail(Errc::malformed, subject, "tensors do not match the numbers of nodes");
  std::vector<Label> out(labels);
  std::size_t row = 0;
  for (std::size_t k = 0; k < labels; ++k) {
    models::Observation& state = out[k].state;
    state.nodes = static_cast<std::size_t>(values("nodes")[k]);
    const float* ask = &values("ask")[k * kAsk];
    std::copy_n(ask, models::kPodFeatures, state.pod.begin());
    std::copy_n(ask + models::kPodFeatures, models::kContextFeatures, state.context.begin());
    const float* node = &values("node")[row * models::kNodeFeatures];
    state.node.assign(node, node + state.nodes * models::kNodeFeatures);
    for (std::size_t i = 0; i < state.nodes; ++i, ++row) {
      state.prior.push_back(values("prior")[row]);
      state.valid.push_back(values("valid")[row] > 0 ? 1 : 0);
      out[k].regret.push_back(values("regret")[row] < 0 ? std::nanf("") : values("regret")[row]);
    }
  }
  return out;
}

}  // namespace wattle::sim::consolidation
