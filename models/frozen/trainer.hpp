// trainer: the interface between learning and the computation of gradients. placement/ and sim/ train through it;
// models/torch implements it; tests may use a fake.
// Threads  single owner
#pragma once

#include <cstdint>
#include <span>

#include "common/result.hpp"
#include "models/frozen/q_network.hpp"

namespace wattle::models {

// (s, a, r, s') over n steps: target = reward + discount * Q_target(next, argmax over valid of Q_online(next)).
struct Transition {
  Observation state;
  std::uint32_t action = 0;  // index of a valid node in state
  float reward = 0;          // discounted sum over the n steps
  float discount = 0;        // product of exp(-dt/tau); 0: end of episode, the next state is not used
  Observation next;          // nodes == 0 only if discount == 0
  float unit = 1;            // above 0, equal for a whole batch: the unit of its errors
};

struct TrainerOptions {
  std::uint64_t seed = 1;
  double learning_rate = 5e-4;
  double huber_delta = 1.0;
  double clip_norm = 10.0;
  double polyak = 0.005;  // target <- (1 - polyak) target + polyak online, after each step
};

struct StepStats {
  double loss = 0;    // Huber loss of errors in units of the batch, mean over it
  double mean_q = 0;  // mean Q of the chosen actions
  double max_abs_q = 0;
  double grad_norm = 0;  // before clipping
  std::uint64_t step = 0;
  double mean_error = 0, error2 = 0;  // target - Q: mean, and mean square
};

class QTrainer {
 public:
  virtual ~QTrainer() = default;
  // Runs one optimiser step. Observations may differ in size: they are padded, which does not change the result.
  virtual Result<StepStats> step(std::span<const Transition* const> batch) = 0;
  virtual std::uint64_t steps() const = 0;
  // Online network, for freezing.
  virtual Weights weights() const = 0;
  // Everything needed to resume: online, target and optimiser state, in one set of named tensors.
  virtual Weights checkpoint() const = 0;
  virtual Status restore(const Weights& checkpoint) = 0;
};

// A decision with judged choices: the probability of each tried node that it is the right one.
struct PolicyExample {
  Observation state;
  // [nodes], at least 0, sum 1; 0 for nodes that were not tried. An anchor to another policy q is included here, too:
  // the minimum of cross-entropy with p plus b KL(q, policy) is that of cross-entropy with (p + b q) / (1 + b).
  std::vector<float> target;
  std::vector<std::uint8_t> tried;  // [nodes], 1: part of the softmax; valid nodes only
  // [nodes], at least 0, or empty: cost of each choice in nats. The loss includes its mean under the policy, so that a
  // rare but expensive choice counts, which cross-entropy treats only as unwanted.
  std::vector<float> cost;
};

struct PolicyStats {
  double loss =
      0;  // cross-entropy minus the entropy of the targets (a KL divergence, nats), plus costs; mean over the batch
  double agreement = 0;  // share of examples in which the most likely tried node is the target's
  double grad_norm = 0;  // before clipping
  std::uint64_t step = 0;
};

// Also learns from judged decisions: cross-entropy of softmax(Q / temperature) over the tried nodes. The value head is
// not affected. Because regrets r give targets softmax(-r / temperature), the differences of Q become those of -r.
class PolicyTrainer : public QTrainer {
 public:
  virtual Result<PolicyStats> imitate(std::span<const PolicyExample* const> batch, double temperature) = 0;
};

}  // namespace wattle::models
