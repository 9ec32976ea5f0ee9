// learning_curve: does a controller's learner get better in the demo's world? Loss, reward and regret by fifths of a
// run, over seeds.
// Run      learning_curve --seeds 1-10 [--seconds 600] [--rotate 40] [--learn "warmup: 64"] from the root of the
//          tree
// Gives    for each seed and fifth: loss (centred TD error, in deviations of what is paid), TD error in rewards, mean
//          reward, regret to the best rule, mean Q, centre, share of decisions by the network and by what
//          was learned here. What there was none of
//          in a fifth is "-". Then last less first fifth over the seeds, with 95% bootstrap intervals
// Regret   mean reward of the rule that had the most over the whole run in the same world (same servers, pods,
//          latencies), less the own
// Threads  one world each, --jobs of them
#include <stdlib.h>

#include <CLI/CLI.hpp>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "common/parse.hpp"
#include "common/stats/bootstrap.hpp"
#include "common/stats/moments.hpp"
#include "lab/benchmarks/demo_world.hpp"

namespace wattle::bench {

namespace {

constexpr std::size_t kFifths = 5;
constexpr std::array<const char*, 4> kRules{"planner", "amortised", "model-greedy", "kube-default"};

struct Arguments {
  std::string seeds = "1-10";
  double seconds = 600;
  DemoOptions demo;
  std::size_t jobs = 1;
  bool rules = true;
};

using Figure = std::optional<double>;

struct Fifth {
  Figure loss, td_error, reward, regret, mean_q, centre, network_ratio, learned_ratio;
};

struct Run {
  std::array<Fifth, kFifths> fifths;
  double reward = 0;  // of all
  double behind = 0,
         learned_behind = 0;  // of the gates at the end: network over plan, what was learned over what it began with
  std::uint64_t blocks = 0, learned_blocks = 0;
  std::string best_rule;
};

Figure mean_of(const stats::Moments& moments) { return moments.count() > 0 ? Figure(moments.mean()) : std::nullopt; }

std::size_t fifth_of(double at_s, double run_s) {
  return std::min(kFifths - 1, static_cast<std::size_t>(std::max(0.0, at_s) / run_s * kFifths));
}

Result<Run> run(const DemoOptions& options, double run_s) {
  WATTLE_TRY(const auto world, DemoWorld::make(options));
  Run out;
  struct Means {
    stats::Moments loss, td_error, reward, mean_q, centre, by_network, by_learned;
  };
  std::array<Means, kFifths> means;
  stats::Moments all;
  std::uint64_t steps = 0;
  while (world->now_s() < run_s) {
    world->turn();
    const std::size_t at = fifth_of(world->now_s(), run_s);
    for (const Judged& judged : world->take_judged()) {
      Means& of = means[fifth_of(judged.at_s, run_s)];
      of.reward.add(judged.reward);
      of.by_network.add(judged.by_network ? 1 : 0);
      of.by_learned.add(judged.by_learned ? 1 : 0);
      all.add(judged.reward);
    }
    const auto learned = world->learned();
    if (!learned || !learned->loss || learned->steps == steps) continue;
    steps = learned->steps;
    means[at].loss.add(*learned->loss);
    means[at].td_error.add(*learned->td_error);
    means[at].mean_q.add(*learned->mean_q);
    means[at].centre.add(*learned->reward_centre);
  }
  for (std::size_t i = 0; i < kFifths; ++i) {
    const Means& of = means[i];
    Fifth& fifth = out.fifths[i];
    fifth.loss = mean_of(of.loss);
    fifth.td_error = mean_of(of.td_error);
    fifth.reward = mean_of(of.reward);
    fifth.mean_q = mean_of(of.mean_q);
    fifth.centre = mean_of(of.centre);
    fifth.network_ratio = mean_of(of.by_network);
    fifth.learned_ratio = mean_of(of.by_learned);
  }
  out.reward = all.mean();
  out.behind = world->decider().network_gate().mean();
  out.blocks = world->decider().network_gate().blocks();
  out.learned_behind = world->decider().learned_network_gate().mean();
  out.learned_blocks = world->decider().learned_network_gate().blocks();
  return out;
}

Result<Run> judge(DemoOptions options, double run_s, bool rules) {
  WATTLE_TRY(Run own, run(options, run_s));
  if (!rules) return own;
  std::optional<Run> best;
  options.learns = false;
  for (const char* rule : kRules) {
    options.policy = rule;
    WATTLE_TRY(Run other, run(options, run_s));
    if (best && best->reward >= other.reward) continue;
    best = std::move(other);
    own.best_rule = rule;
  }
  for (std::size_t i = 0; i < kFifths; ++i)
    if (best->fifths[i].reward && own.fifths[i].reward)
      own.fifths[i].regret = *best->fifths[i].reward - *own.fifths[i].reward;
  return own;
}

std::string text_of(const Figure& figure) {
  char text[32] = "-";
  if (figure) std::snprintf(text, sizeof text, "%.4f", *figure);
  return text;
}

struct Column {
  const char* name;
  Figure Fifth::*figure;
};
constexpr std::array<Column, 8> kColumns{{{"loss", &Fifth::loss},
                                          {"td error", &Fifth::td_error},
                                          {"reward", &Fifth::reward},
                                          {"regret", &Fifth::regret},
                                          {"mean q", &Fifth::mean_q},
                                          {"centre", &Fifth::centre},
                                          {"by network", &Fifth::network_ratio},
                                          {"by learned", &Fifth::learned_ratio}}};

void print(std::uint64_t seed, const Run& run) {
  std::printf("seed %llu, best rule %s\nfifth", static_cast<unsigned long long>(seed),
              run.best_rule.empty() ? "not asked for" : run.best_rule.c_str());
  for (const Column& column : kColumns) std::printf(" %10s", column.name);
  std::printf("\n");
  for (std::size_t i = 0; i < kFifths; ++i) {
    std::printf("%5zu", i + 1);
    for (const Column& column : kColumns) std::printf(" %10s", text_of(run.fifths[i].*column.figure).c_str());
    std::printf("\n");
  }
  std::printf(
      "reward %.4f; on copies, of late: network over plan %+.4f in %llu blocks, learned over begun with %+.4f in "
      "%llu\n",
      run.reward, run.behind, static_cast<unsigned long long>(run.blocks), run.learned_behind,
      static_cast<unsigned long long>(run.learned_blocks));
}

void summarise(const std::vector<Run>& runs) {
  std::printf("over %zu seeds\n%-10s %10s %10s  %s\n", runs.size(), "", "first", "last", "last less first");
  for (const Column& column : kColumns) {
    std::vector<double> first, last;
    for (const Run& run : runs) {
      const Figure begin = run.fifths.front().*column.figure, end = run.fifths.back().*column.figure;
      if (!begin || !end) continue;
      first.push_back(*begin);
      last.push_back(*end);
    }
    if (first.empty()) {
      std::printf("%-10s %10s %10s  -\n", column.name, "-", "-");
      continue;
    }
    const stats::Interval change = stats::paired_difference(last, first);
    std::printf("%-10s %10.4f %10.4f  %s of %zu\n", column.name, stats::mean(first), stats::mean(last),
                stats::interval_text(change, {.decimals = 4, .sign = true}).c_str(), first.size());
  }
  std::printf("%s", stats::seeds_note(runs.size(), "--seeds 1-").c_str());
}

// "1-10" or "3".
std::optional<std::pair<std::uint64_t, std::uint64_t>> parse_range(const std::string& text) {
  const auto dash = text.find('-');
  const auto first = parse::integer<std::uint64_t>(text.substr(0, dash));
  const auto last = dash == std::string::npos ? first : parse::integer<std::uint64_t>(text.substr(dash + 1));
  if (!first || !last || *last < *first) return std::nullopt;
  return std::pair(*first, *last);
}

int play(Arguments arguments) {
  const auto seeds = parse_range(arguments.seeds);
  if (!seeds) {
    std::fprintf(stderr, "learning_curve: --seeds %s is no range such as 1-10\n", arguments.seeds.c_str());
    return 2;
  }
  const std::size_t count = static_cast<std::size_t>(seeds->second - seeds->first) + 1;
  std::vector<std::optional<Result<Run>>> results(count);
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      char folder[] = "/tmp/wattle-learning-curve.XXXXXX";
      if (mkdtemp(folder) == nullptr) {
        results[i] = fail(Errc::io, folder, "cannot be made");
        continue;
      }
      DemoOptions options = arguments.demo;
      options.seed = seeds->first + i;
      options.data_dir = folder;
      results[i] = judge(std::move(options), arguments.seconds, arguments.rules);
      std::error_code ignored;
      std::filesystem::remove_all(folder, ignored);
    }
  };
  std::vector<std::thread> workers;
  for (std::size_t i = 0; i < std::max<std::size_t>(1, arguments.jobs); ++i) workers.emplace_back(work);
  for (std::thread& worker : workers) worker.join();
  std::vector<Run> runs;
  for (std::size_t i = 0; i < count; ++i) {
    if (!*results[i]) {
      std::fprintf(stderr, "learning_curve: %s\n", results[i]->error().message().c_str());
      return 1;
    }
    runs.push_back(std::move(**results[i]));
    print(seeds->first + i, runs.back());
  }
  summarise(runs);
  return 0;
}

}  // namespace

}  // namespace wattle::bench

int main(int argc, char** argv) {
  wattle::bench::Arguments arguments;
  wattle::bench::DemoOptions& demo = arguments.demo;
  demo.models_dir = "models/pretrained";
  CLI::App app("A controller's learner in the demo's world, by fifths of a run.");
  app.add_option("--seeds", arguments.seeds, "first-last")->capture_default_str();
  app.add_option("--seconds", arguments.seconds, "simulated, of a run")->capture_default_str();
  app.add_option("--nodes", demo.nodes)->capture_default_str();
  app.add_option("--pods", demo.pods, "that run at once")->capture_default_str();
  app.add_option("--period", demo.period_s, "seconds between two pods")->capture_default_str();
  app.add_option("--rotate", demo.rotate_every_s, "seconds after which all latencies move on by one node; 0: never")
      ->capture_default_str();
  app.add_option("--learn", demo.learn, "more keys of the configuration's `learn`, as \"warmup: 64\"");
  app.add_option("--decide", demo.decide, "likewise of `decide`, as \"epsilon: 0\"");
  app.add_option("--models", demo.models_dir, "folder of the networks that come with the programs")
      ->capture_default_str();
  app.add_flag("!--no-rules", arguments.rules, "without the runs of rules, and so without regret");
  app.add_option("--jobs", arguments.jobs, "worlds at once")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  return wattle::bench::play(arguments);
}
