// decide_training_bench: measures decisions per second, alternately with and without a concurrent trainer thread.
// Run      decide_training_bench [--rounds 5] [--seconds 1] [--steps-per-s 50]; 0 steps: no limit
// Gives    medians over rounds for 100, 1,000 and 5,000 nodes: decisions per second of CPU time of the deciding thread
//          and of wall time, the 99th percentile of a decision, and gradient steps per second. The network sees the
//          plan, as in a controller. A gradient step equals the controller's: 64 transitions of 64 nodes, a new frozen
//          network every 25 steps, at most a quarter of a core
// Threads  one decides, one learns; they share no state, as in the controller, which swaps a frozen network
#include <time.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

#include "lab/benchmarks/decide_setting.hpp"
#include "models/torch/torch_trainer.hpp"

namespace wattle::placement::bench {

namespace {

constexpr std::size_t kBatch = 64, kRows = 64, kReplay = 256;
constexpr std::uint64_t kFreezeEvery = 25;
constexpr double kDuty = 0.25;

double thread_cpu_s() {
  timespec at{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
  return static_cast<double>(at.tv_sec) + 1e-9 * static_cast<double>(at.tv_nsec);
}
double wall_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

std::vector<models::Transition> replay() {
  Setting setting(kRows, "dqn");
  std::vector<models::Transition> out;
  for (std::size_t k = 0; k < kReplay; ++k) {
    setting.view.nodes[k % kRows].values.cpu_used_cores = 0.1 * static_cast<double>(k % 7);
    PlacementDecision advice =
        decide(setting.view, setting.pod, setting.names, setting.mind(), setting.options, 0, setting.random);
    models::Transition one;
    one.state = one.next = advice.observation;
    one.action = static_cast<std::uint32_t>(k % kRows);
    one.reward = 0.1F * static_cast<float>(k % 11);
    one.discount = 0.9F;
    out.push_back(std::move(one));
  }
  return out;
}

// Trains until `stop`, at most `steps_per_s` times a second and for a quarter of the time, as in the controller.
// `steps_per_s` 0 removes both limits.
void learn(const std::vector<models::Transition>& all, models::QTrainer& trainer, double steps_per_s,
           const std::atomic<bool>& stop, std::atomic<std::uint64_t>& steps) {
  std::mt19937_64 random(1);
  double next_s = 0;
  for (std::uint64_t done = 0; !stop;) {
    const double begun_s = wall_s();
    if (begun_s < next_s) {
      std::this_thread::sleep_for(std::chrono::duration<double>(std::min(next_s - begun_s, 0.01)));
      continue;
    }
    std::vector<const models::Transition*> batch;
    for (std::size_t k = 0; k < kBatch; ++k) batch.push_back(&all[random() % all.size()]);
    if (!trainer.step(batch)) std::abort();
    if (++done % kFreezeEvery == 0 && !models::FrozenNetwork::from_weights(trainer.weights(), done)) std::abort();
    steps = done;
    if (steps_per_s > 0) next_s = begun_s + std::max(1 / steps_per_s, (wall_s() - begun_s) / kDuty);
  }
}

struct Figures {
  std::vector<double> per_cpu_s, per_wall_s, p99_us, steps_per_s;
};

void play(Setting& setting, double for_s, Figures& figures) {
  std::vector<double> took_us;
  const double cpu_s = thread_cpu_s(), begun_s = wall_s();
  for (double at_s = begun_s; at_s < begun_s + for_s;) {
    const PlacementDecision advice =
        decide(setting.view, setting.pod, setting.names, setting.mind(true), setting.options, 0, setting.random);
    if (!advice.top) std::abort();
    const double now_s = wall_s();
    took_us.push_back(1e6 * (now_s - at_s));
    at_s = now_s;
  }
  const auto count = static_cast<double>(took_us.size());
  figures.per_cpu_s.push_back(count / (thread_cpu_s() - cpu_s));
  figures.per_wall_s.push_back(count / (wall_s() - begun_s));
  std::sort(took_us.begin(), took_us.end());
  figures.p99_us.push_back(took_us[took_us.size() * 99 / 100]);
}

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

int run(int rounds, double for_s, double steps_per_s) {
  const std::vector<models::Transition> all = replay();
  const auto trainer = models::make_torch_trainer(models::TrainerOptions{});
  if (!trainer) return 1;
  std::printf("%6s %-9s %16s %16s %12s %16s\n", "nodes", "training", "decisions/cpu s", "decisions/wall s", "p99 us",
              "gradient steps/s");
  for (const std::size_t nodes : {100, 1000, 5000}) {
    Setting setting(nodes, "dqn");
    setting.policy->prepare(setting.cluster_model.fleet(setting.view));
    Figures arms[2];
    for (int round = 0; round < rounds; ++round) {
      play(setting, for_s, arms[0]);
      std::atomic<bool> stop{false};
      std::atomic<std::uint64_t> steps{0};
      std::thread beside([&] { learn(all, **trainer, steps_per_s, stop, steps); });
      const double begun_s = wall_s();
      play(setting, for_s, arms[1]);
      arms[1].steps_per_s.push_back(static_cast<double>(steps) / (wall_s() - begun_s));
      stop = true;
      beside.join();
    }
    for (const int arm : {0, 1})
      std::printf("%6zu %-9s %16.0f %16.0f %12.0f %16.0f\n", nodes, arm == 0 ? "no" : "yes",
                  median_of(arms[arm].per_cpu_s), median_of(arms[arm].per_wall_s), median_of(arms[arm].p99_us),
                  arm == 0 ? 0.0 : median_of(arms[arm].steps_per_s));
  }
  return 0;
}

}  // namespace

}  // namespace wattle::placement::bench

int main(int argc, char** argv) {
  int rounds = 5;
  double seconds = 1, steps_per_s = 50;
  CLI::App app{"Decisions a second while training runs", "decide_training_bench"};
  app.add_option("--rounds", rounds, "of both arms in turn")->check(CLI::Range(1, 1000))->capture_default_str();
  app.add_option("--seconds", seconds, "of an arm in a round")->check(CLI::Range(0.01, 3600.0))->capture_default_str();
  app.add_option("--steps-per-s", steps_per_s, "gradient steps; 0: as many as it can")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  return wattle::placement::bench::run(rounds, seconds, steps_per_s);
}
