#include "models/torch/torch_trainer.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <limits>

#include "models/frozen/frozen_network.hpp"
#include "models/torch/flat_policy.hpp"
#include "observations.hpp"

namespace wattle::models {

using namespace test;

namespace {

std::unique_ptr<QTrainer> trainer(const TrainerOptions& options = {}, std::optional<Weights> initial = std::nullopt) {
  auto made = make_torch_trainer(options, initial);
  REQUIRE(made);
  return std::move(*made);
}

std::shared_ptr<const FrozenNetwork> frozen(const QTrainer& t) {
  auto made = FrozenNetwork::from_weights(t.weights(), t.steps());
  REQUIRE(made);
  return *made;
}

std::vector<float> q(const QNetwork& network, const Observation& o) {
  auto all = residual(network, o);
  for (std::size_t i = 0; i < o.nodes; ++i) all[i] += o.prior[i];
  return all;
}

std::uint32_t random_action(Random& random, const Observation& o) {
  for (;;)
    if (const auto i = static_cast<std::uint32_t>(random() % o.nodes); o.valid[i] != 0) return i;
}

Transition transition(Random& random) {
  Transition t;
  t.state = observation(random, 1 + random() % 12);
  t.action = random_action(random, t.state);
  t.reward = uniform(random, -1, 1);
  t.discount = 0.9F;
  t.next = observation(random, 1 + random() % 12);
  return t;
}

std::vector<Transition> transitions(std::uint64_t seed, std::size_t count) {
  Random random(seed);
  std::vector<Transition> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(transition(random));
  return all;
}

std::vector<const Transition*> pointers(const std::vector<Transition>& all) {
  std::vector<const Transition*> batch;
  for (const Transition& t : all) batch.push_back(&t);
  return batch;
}

double huber(double error) { return std::abs(error) < 1 ? 0.5 * error * error : std::abs(error) - 0.5; }

}  // namespace

TEST_CASE("training sees the network that serves: the loss of torch is the loss of the frozen residuals") {
  CHECK(rc::check([] {
    Random random(*rc::gen::arbitrary<std::uint64_t>());
    const auto t = trainer({}, weights(random()));
    const auto net = frozen(*t);
    std::vector<Transition> batch;
    const std::size_t size = 1 + random() % 5;
    for (std::size_t i = 0; i < size; ++i) {
      batch.push_back(transition(random));
      batch.back().state = observation(random, 1 + random() % 64);
      batch.back().action = random_action(random, batch.back().state);
    }
    double loss = 0;
    double mean_q = 0;
    for (const Transition& one : batch) {
      // Online and target networks are still the same here, so Double DQN's judgement is the maximum.
      const auto next = q(*net, one.next);
      float best = -std::numeric_limits<float>::infinity();
      for (std::size_t i = 0; i < one.next.nodes; ++i)
        if (one.next.valid[i] != 0) best = std::max(best, next[i]);
      const double taken = static_cast<double>(q(*net, one.state)[one.action]);
      loss += huber(taken - static_cast<double>(one.reward + one.discount * best)) / static_cast<double>(size);
      mean_q += taken / static_cast<double>(size);
    }
    const auto stats = t->step(pointers(batch));
    RC_ASSERT(stats.has_value());
    RC_ASSERT(std::abs(stats->loss - loss) < 1e-4);
    RC_ASSERT(std::abs(stats->mean_q - mean_q) < 1e-4);
    RC_ASSERT(stats->step == 1U);
  }));
}

TEST_CASE("frozen and torch agree on trained weights, node by node") {
  const auto data = transitions(11, 32);
  const auto t = trainer({.seed = 11, .learning_rate = 2e-3});
  for (int i = 0; i < 100; ++i) REQUIRE(t->step(pointers(data)));
  Random random(12);
  for (int round = 0; round < 10; ++round) {
    Transition one = transition(random);
    one.discount = 0;
    const auto expected = q(*frozen(*t), one.state);
    for (std::uint32_t i = 0; i < one.state.nodes; ++i) {
      if (one.state.valid[i] == 0) continue;
      one.action = i;
      const Transition* const batch[] = {&one};
      const auto probe = trainer({}, t->weights());
      CHECK(probe->step(batch)->mean_q == doctest::Approx(static_cast<double>(expected[i])).epsilon(1e-4));
    }
  }
}

TEST_CASE("an untrained trainer starts at the prior") {
  Random random(13);
  const auto net = frozen(*trainer({.seed = 13}));
  for (const float v : residual(*net, observation(random, 20))) CHECK(v == 0.0F);
}

TEST_CASE("regression on fixed rewards lowers the loss and learns the better of two nodes against the prior") {
  Random random(14);
  std::vector<Transition> data;
  for (int i = 0; i < 64; ++i) {
    Transition t;
    t.state = observation(random, 2, 1.0);
    // Feature 0 tells the better node; the prior says the opposite.
    const std::size_t better = random() % 2;
    t.state.node[better * kNodeFeatures] = 1;
    t.state.node[(1 - better) * kNodeFeatures] = -1;
    t.state.prior[better] = -0.5F;
    t.state.prior[1 - better] = 0;
    for (const std::uint32_t action : {0U, 1U}) {
      t.action = action;
      t.reward = action == better ? 1.0F : -1.0F;
      data.push_back(t);
    }
  }
  const auto t = trainer({.seed = 14, .learning_rate = 2e-3});
  const double first = t->step(pointers(data))->loss;
  double last = first;
  for (int i = 0; i < 300; ++i) last = t->step(pointers(data))->loss;
  CHECK(last < first / 10);
  const auto net = frozen(*t);
  for (const Transition& one : data) {
    const auto values = q(*net, one.state);
    const std::size_t better = one.state.node[0] > 0 ? 0 : 1;
    CHECK(values[better] > values[1 - better]);
  }
}

TEST_CASE("a masked node never serves as the target, however good it looks") {
  Random random(15);
  Transition t = transition(random);
  t.discount = 1;
  t.next = observation(random, 3, 1.0);
  t.next.prior = {-0.25F, 50.0F, -0.75F};
  t.next.valid = {1, 0, 1};
  const Transition* const batch[] = {&t};
  // Residuals are 0 at first, so Q(next) is the prior: -0.25 of the valid nodes, 50 with the masked one.
  const double taken = static_cast<double>(t.state.prior[t.action]);
  CHECK(trainer()->step(batch)->loss == doctest::Approx(huber(taken - static_cast<double>(t.reward - 0.25F))));
  t.next.valid = {1, 1, 1};
  CHECK(trainer()->step(batch)->loss == doctest::Approx(huber(taken - static_cast<double>(t.reward + 50.0F))));
}

TEST_CASE("the online network chooses and the target network judges") {
  Random random(16);
  Transition t = transition(random);
  t.discount = 1;
  t.next = observation(random, 8, 1.0);
  std::fill(t.next.prior.begin(), t.next.prior.end(), 0.0F);
  const auto first = trainer();
  // Two networks that rank the next nodes differently: online from seed 17, target from seed 18.
  Weights checkpoint = first->checkpoint();
  for (const auto& [name, tensor] : weights(17)) checkpoint["online." + name] = tensor;
  for (const auto& [name, tensor] : weights(18)) checkpoint["target." + name] = tensor;
  REQUIRE(first->restore(checkpoint));
  const auto online = FrozenNetwork::from_weights(weights(17), 0);
  const auto target = FrozenNetwork::from_weights(weights(18), 0);
  const auto chosen = q(**online, t.next);
  const auto judged = q(**target, t.next);
  const auto best = static_cast<std::size_t>(std::max_element(chosen.begin(), chosen.end()) - chosen.begin());
  REQUIRE(judged[best] < *std::max_element(judged.begin(), judged.end()));
  const double taken = static_cast<double>(q(**online, t.state)[t.action]);
  const Transition* const batch[] = {&t};
  CHECK(first->step(batch)->loss ==
        doctest::Approx(huber(taken - static_cast<double>(t.reward + judged[best]))).epsilon(1e-4));
}

TEST_CASE("an end of episode is not bootstrapped and its next state is not looked at") {
  Random random(19);
  Transition t = transition(random);
  t.discount = 0;
  t.next = Observation{};
  const Transition* const batch[] = {&t};
  CHECK(trainer()->step(batch)->loss ==
        doctest::Approx(huber(static_cast<double>(t.state.prior[t.action] - t.reward))));
}

TEST_CASE("a batch of different sizes has the gradient of its transitions one by one") {
  const auto data = transitions(20, 6);
  const TrainerOptions options{.seed = 20, .clip_norm = 1e9};
  // After one step Adam's mean is a tenth of the gradient.
  const auto gradient = [&](std::vector<const Transition*> batch) {
    const auto t = trainer(options, weights(20));
    REQUIRE(t->step(batch));
    return t->checkpoint();
  };
  const Weights together = gradient(pointers(data));
  std::map<std::string, std::vector<double>> sum;
  for (const Transition& one : data)
    for (const auto& [name, tensor] : gradient({&one})) {
      if (!name.starts_with("adam.mean.")) continue;
      auto& into = sum[name];
      into.resize(tensor.values.size());
      for (std::size_t i = 0; i < into.size(); ++i)
        into[i] += static_cast<double>(tensor.values[i]) / static_cast<double>(data.size());
    }
  CHECK(sum.size() == kLayout.size());
  for (const auto& [name, values] : sum)
    for (std::size_t i = 0; i < values.size(); ++i)
      REQUIRE(static_cast<double>(together.at(name).values[i]) == doctest::Approx(values[i]).epsilon(1e-4));
}

TEST_CASE("padding and masked nodes change nothing in training") {
  auto data = transitions(21, 4);
  const auto lean = trainer({.seed = 21});
  const auto padded = trainer({.seed = 21});
  for (int i = 0; i < 5; ++i) REQUIRE(lean->step(pointers(data)));
  for (Transition& t : data)
    for (Observation* o : {&t.state, &t.next})
      for (int i = 0; i < 3; ++i) {
        o->node.insert(o->node.end(), kNodeFeatures, std::numeric_limits<float>::quiet_NaN());
        o->prior.push_back(1e9F);
        o->valid.push_back(0);
        ++o->nodes;
      }
  for (int i = 0; i < 5; ++i) REQUIRE(padded->step(pointers(data)));
  for (const auto& [name, tensor] : lean->weights()) CHECK(padded->weights().at(name).values == tensor.values);
}

TEST_CASE("the same seed and data give the same weights bit for bit, another seed others") {
  const auto data = transitions(22, 16);
  const auto run = [&](std::uint64_t seed) {
    const auto t = trainer({.seed = seed});
    for (int i = 0; i < 20; ++i) REQUIRE(t->step(pointers(data)));
    return t->weights();
  };
  const Weights one = run(1);
  const Weights again = run(1);
  const Weights other = run(2);
  for (const auto& [name, tensor] : one) CHECK(again.at(name).values == tensor.values);
  CHECK(other.at("node.0.weight").values != one.at("node.0.weight").values);
}

TEST_CASE("a restored trainer goes on as the one that was saved") {
  const auto data = transitions(23, 16);
  const auto saved = trainer({.seed = 1});
  for (int i = 0; i < 10; ++i) REQUIRE(saved->step(pointers(data)));
  const auto restored = trainer({.seed = 2});
  REQUIRE(restored->restore(saved->checkpoint()));
  CHECK(restored->steps() == 10);
  for (int i = 0; i < 10; ++i) {
    REQUIRE(saved->step(pointers(data)));
    REQUIRE(restored->step(pointers(data)));
  }
  const Weights expected = saved->checkpoint();
  const Weights got = restored->checkpoint();
  REQUIRE(got.size() == expected.size());
  for (const auto& [name, tensor] : expected) CHECK(got.at(name).values == tensor.values);
}

TEST_CASE("a checkpoint that does not fit is refused whole") {
  const auto t = trainer({.seed = 24});
  const Weights before = t->checkpoint();
  for (const auto& [name, tensor] : before) {
    Weights bad = before;
    bad.erase(name);
    const auto restored = t->restore(bad);
    REQUIRE_FALSE(restored);
    CHECK(restored.error().message().find(name) != std::string::npos);
  }
  Weights bad = before;
  bad["extra"] = {{1}, {0}};
  CHECK_FALSE(t->restore(bad));
  bad = before;
  bad["adam.step"].values = {0.5F, 0};
  CHECK_FALSE(t->restore(bad));
  for (const auto& [name, tensor] : t->checkpoint()) CHECK(before.at(name).values == tensor.values);
}

TEST_CASE("a transition that is not what it says is refused and changes nothing") {
  Random random(25);
  const auto t = trainer({.seed = 25});
  const Weights before = t->checkpoint();
  const Transition good = transition(random);
  const auto refused = [&](auto spoil) {
    Transition bad = good;
    spoil(bad);
    const Transition* const batch[] = {&good, &bad};
    const auto stats = t->step(batch);
    REQUIRE_FALSE(stats);
    CHECK(stats.error().message().find("transition 1 of the batch") != std::string::npos);
  };
  refused([](Transition& b) { b.action = static_cast<std::uint32_t>(b.state.nodes); });
  refused([](Transition& b) { b.state.valid[b.action] = 0; });
  refused([](Transition& b) { b.reward = std::numeric_limits<float>::quiet_NaN(); });
  refused([](Transition& b) { b.discount = 1.5F; });
  refused([](Transition& b) { b.next = Observation{}; });
  refused([](Transition& b) { std::fill(b.next.valid.begin(), b.next.valid.end(), std::uint8_t{0}); });
  refused([](Transition& b) { b.state.node.pop_back(); });
  refused([](Transition& b) { b.next.prior.pop_back(); });
  refused([](Transition& b) { b.state.node[b.action * kNodeFeatures + 5] = std::numeric_limits<float>::infinity(); });
  CHECK_FALSE(t->step({}));
  for (const auto& [name, tensor] : t->checkpoint()) CHECK(before.at(name).values == tensor.values);
}

std::unique_ptr<PolicyTrainer> policy_trainer(const TrainerOptions& options = {}) {
  auto made = make_torch_policy_trainer(options);
  REQUIRE(made);
  return std::move(*made);
}

PolicyExample example(Random& random, std::size_t nodes) {
  PolicyExample e;
  e.state = observation(random, nodes);
  e.target.assign(nodes, 0.0F);
  e.tried = e.state.valid;
  e.target[random_action(random, e.state)] = 1.0F;
  return e;
}

// KL(target, softmax(Q / temperature)) by the serving kernels.
double divergence(const QNetwork& network, const PolicyExample& e, double temperature) {
  const auto all = q(network, e.state);
  double sum = 0, loss = 0;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (e.tried[i] != 0) sum += std::exp(static_cast<double>(all[i]) / temperature);
  for (std::size_t i = 0; i < all.size(); ++i)
    if (e.target[i] > 0)
      loss += static_cast<double>(e.target[i]) *
              (std::log(static_cast<double>(e.target[i])) - static_cast<double>(all[i]) / temperature + std::log(sum));
  return loss;
}

TEST_CASE(
    "imitation: the loss of torch is that of the frozen network, and it learns whom it is shown, not the others") {
  Random random(11);
  std::vector<PolicyExample> all;
  for (std::size_t k = 0; k < 8; ++k) all.push_back(example(random, 2 + k));
  for (std::size_t i = 0; i < all[5].state.nodes; ++i)  // one whose choice was tried against a single other node
    if (all[5].target[i] <= 0) all[5].tried[i] = i == (all[5].target[0] > 0 ? 1U : 0U) ? all[5].state.valid[i] : 0;
  std::vector<const PolicyExample*> batch;
  for (const PolicyExample& e : all) batch.push_back(&e);
  const auto t = policy_trainer({.seed = 5, .learning_rate = 3e-3});
  const Weights before = t->weights();
  double first = 0, last = 0;
  for (int k = 0; k < 400; ++k) {
    const auto now = frozen(*t);
    const auto stats = t->imitate(batch, 0.3);
    REQUIRE(stats);
    if (k % 100 == 0) {
      double expected = 0;
      for (const PolicyExample& e : all) expected += divergence(*now, e, 0.3) / static_cast<double>(all.size());
      CHECK(stats->loss == doctest::Approx(expected).epsilon(1e-3));
    }
    if (k == 0) first = stats->loss;
    last = stats->loss;
  }
  CHECK(last < 0.05 * first);
  for (const char* name : {"value.weight", "value.out.weight", "value.out.bias"})
    CHECK(t->weights().at(name).values == before.at(name).values);
}

TEST_CASE("imitation: a cost draws the choice away from it, to where the sum of cross-entropy and mean cost is least") {
  Random random(7);
  PolicyExample e = example(random, 4);
  e.state.valid.assign(4, 1);
  e.tried = {1, 1, 0, 0};
  e.target = {0.5F, 0.5F, 0.0F, 0.0F};
  e.cost = {2.0F, 0.0F, 9.0F, 9.0F};  // what was not tried is not heard
  const std::vector<const PolicyExample*> batch{&e};
  // d/dx of the loss over p = sigmoid(x): (p - 1/2) + 2 p (1 - p) = 0.
  const double wanted = (3 - std::sqrt(5.0)) / 4;
  const auto chosen = [&](const QNetwork& network) {
    const auto all = q(network, e.state);
    return 1 / (1 + std::exp((static_cast<double>(all[1]) - static_cast<double>(all[0])) / 0.3));
  };
  const auto t = policy_trainer({.seed = 2, .learning_rate = 3e-3});
  const auto flat = make_flat_policy({.seed = 2, .learning_rate = 3e-3}, 4);
  REQUIRE(flat);
  for (int k = 0; k < 400; ++k) {
    REQUIRE(t->imitate(batch, 0.3));
    REQUIRE((*flat)->imitate(batch, 0.3));
  }
  CHECK(chosen(*frozen(*t)) == doctest::Approx(wanted).epsilon(0.01));
  CHECK(chosen(*(*flat)->network()) == doctest::Approx(wanted).epsilon(0.01));
}

TEST_CASE("imitation: padding changes nothing, the same examples give the same weights bit for bit") {
  Random random(3);
  const PolicyExample small = example(random, 3), large = example(random, 12);
  const auto together = policy_trainer(), again = policy_trainer();
  const std::vector<const PolicyExample*> both{&small, &large};
  const auto stats = together->imitate(both, 0.15);
  REQUIRE(stats);
  REQUIRE(again->imitate(both, 0.15));
  CHECK(together->weights().at("node.0.weight").values == again->weights().at("node.0.weight").values);
  double alone = 0;
  for (const PolicyExample* e : both) {
    const auto one = policy_trainer()->imitate(std::vector<const PolicyExample*>{e}, 0.15);
    REQUIRE(one);
    alone += one->loss / 2;
  }
  CHECK(stats->loss == doctest::Approx(alone).epsilon(1e-4));
}

TEST_CASE("imitation: an example that is not what it says is refused and changes nothing") {
  Random random(4);
  const PolicyExample good = example(random, 5);
  const auto t = policy_trainer();
  const Weights before = t->weights();
  const auto refused = [&](PolicyExample bad) {
    return !t->imitate(std::vector<const PolicyExample*>{&good, &bad}, 0.15);
  };
  PolicyExample bad = good;
  bad.target.assign(5, 0.0F);
  CHECK(refused(bad));
  bad = good;
  bad.target.pop_back();
  CHECK(refused(bad));
  bad = good;
  bad.target[0] = -1;
  CHECK(refused(bad));
  bad = good;
  bad.state.valid.assign(5, 0);
  CHECK(refused(bad));
  bad = good;
  bad.cost.assign(4, 0.0F);
  CHECK(refused(bad));
  for (const float cost : {-1.0F, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    bad = good;
    bad.cost.assign(5, cost);
    CHECK(refused(bad));
  }
  CHECK_FALSE(t->imitate(std::vector<const PolicyExample*>{&good}, 0));
  CHECK_FALSE(t->imitate({}, 0.15));
  CHECK(t->weights().at("advantage.out.weight").values == before.at("advantage.out.weight").values);
  CHECK(t->steps() == 0);
}

TEST_CASE("the flat network learns examples, says what it learned, and takes no more nodes than it was made for") {
  Random random(8);
  std::vector<PolicyExample> all;
  for (int k = 0; k < 8; ++k) all.push_back(example(random, 3 + static_cast<std::size_t>(k) % 4));
  std::vector<const PolicyExample*> batch;
  for (const PolicyExample& each : all) batch.push_back(&each);
  const auto flat = make_flat_policy({.learning_rate = 3e-3}, 6);
  REQUIRE(flat);
  double first = 0, last = 0;
  for (int k = 0; k < 400; ++k) {
    double expected = 0;
    if (k % 100 == 0)
      for (const PolicyExample& e : all) expected += divergence(*(*flat)->network(), e, 0.3) / 8;
    const auto stats = (*flat)->imitate(batch, 0.3);
    REQUIRE(stats);
    if (k % 100 == 0) CHECK(stats->loss == doctest::Approx(expected).epsilon(1e-3));
    if (k == 0) first = stats->loss;
    last = stats->loss;
  }
  CHECK(last < 0.05 * first);
  const PolicyExample large = example(random, 7);
  CHECK((*flat)->imitate(std::vector<const PolicyExample*>{&large}, 0.3).error().code == Errc::out_of_range);
  CHECK_FALSE(make_flat_policy({}, 0));
}

TEST_CASE("options out of range are refused by name") {
  const auto refused = [](TrainerOptions options, const char* name) {
    const auto made = make_torch_trainer(options);
    REQUIRE_FALSE(made);
    CHECK(made.error().message().find(name) != std::string::npos);
  };
  refused({.learning_rate = 0}, "learning_rate");
  refused({.huber_delta = -1}, "huber_delta");
  refused({.clip_norm = std::numeric_limits<double>::quiet_NaN()}, "clip_norm");
  refused({.polyak = 1.5}, "polyak");
}

}  // namespace wattle::models
