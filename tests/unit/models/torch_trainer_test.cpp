#include "models/torch/torch_trainer.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <limits>

#include "torch_rig.hpp"

namespace wattle::models {

using namespace test;

TEST_CASE("training and serving agree: the loss of torch equals that of the frozen residuals") {
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
      // Online and target networks are still the same here, so Double DQN's estimate is the maximum.
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
    // Feature 0 marks the better node; the prior says the opposite.
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

TEST_CASE("the online network chooses and the target network evaluates") {
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

TEST_CASE("the end of an episode has no bootstrap value, and its next state is ignored") {
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

TEST_CASE("padding and masked nodes do not affect training") {
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

TEST_CASE("the same seed and data give the same weights bit for bit, and another seed different ones") {
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

TEST_CASE("a restored trainer continues as the saved one") {
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

TEST_CASE("an inconsistent transition is refused and changes nothing") {
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
