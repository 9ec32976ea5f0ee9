#include "sim/improve/improve.hpp"
#include "common/formatted.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "common/digest.hpp"
#include "common/dir.hpp"
#include "common/json/value.hpp"
#include "common/parse.hpp"
#include "models/frozen/checkpoint.hpp"
#include "models/frozen/layout.hpp"
#include "models/frozen/prefixed.hpp"
#include "models/frozen/pretrained.hpp"
#include "models/torch/torch_trainer.hpp"
#include "placement/worth/features.hpp"
#include "sim/commands/arguments.hpp"
#include "sim/commands/commands.hpp"
#include "sim/commands/model_file.hpp"
#include "sim/commands/progress.hpp"
#include "sim/improve/label_shards.hpp"

namespace wattle::sim::commands {

namespace {

namespace fs = std::filesystem;
constexpr std::size_t kMostRecordBytes = std::size_t{1} << 30;
constexpr const char* kReward = "weighted";  // labels are based on joules

struct ImproveArguments {
  std::string record_file, model_file, out_file, work_dir, json_file, shard;
  bool merge = false;
  double day_h = 24;
  consolidation::ImproveOptions improve;
  models::TrainerOptions trainer;
};

struct Start {
  models::Weights weights;
  std::string reward, sha256;
  consolidation::Network network;
};

// Reads a network in the format of wattle-sim and the packages, or of a controller's checkpoints.
Result<Start> read_start(const std::string& file) {
  Start start;
  const fs::path path(file);
  std::error_code ignored;
  const bool kept = fs::exists(fs::path(path).replace_extension(".json"), ignored);
  bool on_prior = true;
  if (kept) {
    WATTLE_TRY(const auto folder,
               models::CheckpointDir::open_(path.has_parent_path() ? path.parent_path().string() : "."));
    WATTLE_TRY(const auto loaded, folder.load(path.stem().string(), placement::feature_schema_hash()));
    start.weights = models::with_prefix(loaded.tensors, models::kOnlinePrefix);
    start.reward = loaded.manifest.reward;
    on_prior = loaded.manifest.on_prior.value_or(models::had_prior(start.reward));
  } else {
    WATTLE_TRY(auto model, read_model(file));
    WATTLE_TRY(const auto checked, read_network(file));  // rejects another schema
    static_cast<void>(checked);
    start.reward = model.metadata["reward"];
    on_prior = models::taught_on_prior(model.metadata);
    start.weights = std::move(model.tensors);
  }
  if (start.reward != kReward || !on_prior)
    return fail(Errc::conflict, file,
                "is of the reward preset '" + start.reward + "', but recorded days are evaluated by energy",
                "use a network of the preset weighted");
  start.sha256 = models::network_digest(start.weights);
  WATTLE_TRY(start.network, models::FrozenNetwork::from_weights(start.weights, 0, file));
  return start;
}

struct Asked {
  consolidation::CalibratedDays days;
  Start start;
  std::string question;
};

Result<Asked> ask(const ImproveArguments& arguments) {
  Asked asked;
  WATTLE_TRY(const std::string text, read_file(arguments.record_file, kMostRecordBytes));
  WATTLE_TRY(const auto record, consolidation::parse_cluster_record(text, arguments.record_file));
  WATTLE_TRY(asked.start, read_start(arguments.model_file));
  WATTLE_TRY(asked.days, consolidation::calibrated_days(record, arguments.improve, arguments.record_file));
  const consolidation::LabelOptions& labels = arguments.improve.hindsight.labels;
  const consolidation::DayOptions& days = arguments.improve.days;
  const std::string options = formatted("%zu %zu %zu %.17g %.17g %.17g %zu %.17g %d", labels.per_episode, labels.likely,
                                        labels.others, labels.explore, labels.horizon_lives, labels.network.margin,
                                        days.most, days.day_s, days.idle_nodes_sleep ? 1 : 0);
  asked.question = sha256_hex(sha256_hex(text) + asked.start.sha256 + placement::feature_schema_hash() + options);
  return asked;
}

// Judges one shard. With a folder, each day is on disk before the next begins, and finished days are not repeated.
Result<consolidation::LabelShard> judge(const ImproveArguments& arguments, const Asked& asked, std::size_t shard,
                                        std::size_t shards) {
  consolidation::LabelShard out{asked.question, shard, shards, 0, {}};
  const std::string file =
      arguments.work_dir.empty() ? "" : arguments.work_dir + "/" + consolidation::shard_name(shard, shards);
  if (!file.empty()) {
    WATTLE_CHECK(make_dirs(arguments.work_dir));
    std::error_code ignored;
    if (fs::exists(file, ignored)) {
      WATTLE_TRY(const auto model, read_model(file));
      WATTLE_TRY(auto before, consolidation::parse_label_shard(model, file));
      if (before.question == asked.question) out = std::move(before);
    }
  }
  consolidation::LabelOptions options = arguments.improve.hindsight.labels;
  options.shard = shard;
  options.shards = shards;
  ProgressBar bar;
  for (std::size_t day = out.days_done; day < asked.days.learned; ++day) {
    bar.show(static_cast<double>(day) / static_cast<double>(asked.days.learned), "day " + std::to_string(day + 1));
    for (consolidation::Label& label : consolidation::judge_day(asked.days, day, options, asked.start.network)) {
      label.order += day * options.per_episode;
      out.labels.push_back(std::move(label));
    }
    out.days_done = day + 1;
    if (!file.empty()) WATTLE_CHECK(write_model(file, consolidation::to_file(out)));
  }
  bar.show(1, "");
  return out;
}

Result<std::vector<consolidation::LabelShard>> shards_in(const std::string& folder, const std::string& question) {
  std::vector<consolidation::LabelShard> shards;
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (entry.path().filename().string().starts_with("labels-") && entry.path().extension() == ".safetensors")
      files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  for (const std::string& file : files) {
    WATTLE_TRY(const auto model, read_model(file));
    WATTLE_TRY(auto shard, consolidation::parse_label_shard(model, file));
    if (shard.question != question)
      return fail(Errc::conflict, file, "contains labels of another record, initial network or options",
                  "remove it, or use the same record, network and options");
    shards.push_back(std::move(shard));
  }
  return shards;
}

std::string percent(const Interval& interval) {
  return interval_text(interval, {.scale = 100, .sign = true, .unit = "%"});
}

// Returns the evidence for a network that has not served yet.
std::string certificate(const consolidation::Improvement& found) {
  return formatted(
      "on %zu recorded days of this cluster that it was not trained on, simulated %zu times on its model, it drew "
      "%.2f%% [%.2f, %.2f] less than the plan and %.2f%% [%.2f, %.2f] less than the initial network",
      found.judged_days, found.plays, -100 * found.learned_over_planner.mean, -100 * found.learned_over_planner.high,
      -100 * found.learned_over_planner.low, -100 * found.learned_over_start.mean, -100 * found.learned_over_start.high,
      -100 * found.learned_over_start.low);
}

// Empty if the days that judge are enough for a verdict.
std::string judged_note(std::size_t days) {
  if (stats::enough_seeds(days)) return {};
  const std::string least = std::to_string(stats::kLeastSeeds), twice = std::to_string(2 * stats::kLeastSeeds);
  return "no interval and no verdict: " + std::to_string(days) + (days == 1 ? " day judges" : " days judge") +
         ", and at least " + least + " independent ones are needed (a record of " + twice +
         " days; simulations of one day in other orders count as one)\n";
}

SortedJson verdict_json(const Asked& asked, const consolidation::Improvement& found) {
  const auto interval = [](const Interval& each) {
    const auto end = [&](double value) { return each.known() ? SortedJson(value) : SortedJson(nullptr); };
    return SortedJson{each.mean, end(each.low), end(each.high)};
  };
  const consolidation::Calibration& model = asked.days.calibration;
  return {{"kept", found.kept()},
          {"days_learned", asked.days.learned},
          {"days_judged", found.judged_days},
          {"plays", found.plays},
          {"labels", found.labels},
          {"passes", found.passes},
          {"measured_node_hours", model.measured_hours},
          {"node_ratio", model.node_ratio},
          {"node_error_ratio", model.node_error},
          {"learned_over_start", interval(found.learned_over_start)},
          {"learned_over_planner", interval(found.learned_over_planner)},
          {"start_over_planner", interval(found.start_over_planner)}};
}

Status learn(const ImproveArguments& arguments, const Asked& asked, std::span<const consolidation::Label> labels) {
  WATTLE_TRY(const auto trainer, models::make_torch_policy_trainer(arguments.trainer, asked.start.weights));
  WATTLE_TRY(consolidation::Improvement found,
             consolidation::improve(asked.days, labels, asked.start.network, arguments.improve.hindsight, *trainer));
  const consolidation::Calibration& model = asked.days.calibration;
  std::printf(
      "%zu days learned from, %zu judged by, %zu labels; model: %zu measured hours of nodes, a node's joules off by "
      "%.1f%%%s\n",
      asked.days.learned, found.judged_days, found.labels, model.measured_hours, 100 * model.node_error,
      model.measured_hours == 0 ? " (assumed: no measurements)" : "");
  std::printf("energy, mean [95%%]: learned over start %s, learned over planner %s, start over planner %s\n",
              percent(found.learned_over_start).c_str(), percent(found.learned_over_planner).c_str(),
              percent(found.start_over_planner).c_str());
  if (!arguments.json_file.empty())
    WATTLE_CHECK(write_file_atomically(arguments.json_file, verdict_json(asked, found).dump() + "\n"));
  if (!found.kept()) {
    const std::string note = judged_note(found.judged_days);
    std::printf("%swrote no network%s\n", note.c_str(),
                note.empty() ? ": no learned network is better with 95% confidence" : "");
    return {};
  }
  models::Safetensors file{std::move(found.weights), {}};
  file.metadata = {{"network_sha256", models::network_digest(file.tensors)},
                   {"scenario", "recorded days"},
                   {"reward", kReward},
                   {"seed", std::to_string(arguments.trainer.seed)},
                   {"labels", std::to_string(found.labels)},
                   {"began_with", asked.start.sha256},
                   {"feature_schema", placement::feature_schema_hash()},
                   {"certificate", certificate(found)}};
  WATTLE_CHECK(write_model(arguments.out_file, file));
  std::printf("%s: %s\n", arguments.out_file.c_str(), file.metadata["certificate"].c_str());
  return {};
}

Status run(const ImproveArguments& given) {
  ImproveArguments arguments = given;
  arguments.improve.days.day_s = arguments.day_h * 3600;
  arguments.improve.hindsight.labels.network = arguments.improve.hindsight.network;
  arguments.improve.hindsight.labels.listed = true;
  std::size_t shard = 0, shards = 1;
  if (!arguments.shard.empty()) {
    const auto slash = arguments.shard.find('/');
    const auto index = parse::u64(std::string_view(arguments.shard).substr(0, slash));
    const auto of =
        slash == std::string::npos ? std::nullopt : parse::u64(std::string_view(arguments.shard).substr(slash + 1));
    if (!index || !of || *of < 1 || *of > 10'000 || *index >= *of)
      return fail(Errc::malformed, "--shard " + arguments.shard, "is not I/N with I from 0 to N - 1", "0/8 to 7/8");
    shard = *index;
    shards = *of;
  }
  WATTLE_TRY(const Asked asked, ask(arguments));
  std::vector<consolidation::LabelShard> all;
  if (arguments.merge) {
    WATTLE_TRY(all, shards_in(arguments.work_dir, asked.question));
  } else {
    WATTLE_TRY(auto own, judge(arguments, asked, shard, shards));
    if (!arguments.shard.empty()) {
      std::printf("%s/%s: %zu labels\n", arguments.work_dir.c_str(), consolidation::shard_name(shard, shards).c_str(),
                  own.labels.size());
      return {};
    }
    all.push_back(std::move(own));
  }
  WATTLE_TRY(const auto labels, consolidation::merged(std::move(all), asked.days.learned, arguments.work_dir));
  return learn(arguments, asked, labels);
}

}  // namespace

int improve(int argc, char** argv) {
  ImproveArguments arguments;
  arguments.trainer.learning_rate = 3e-4;
  consolidation::HindsightOptions& hindsight = arguments.improve.hindsight;
  hindsight.network = {};
  hindsight.labels.per_episode = 200;
  hindsight.imitate.epochs = 12;
  hindsight.imitate.anchor_share = 0.2;
  CLI::App app{
      "Learn from recorded days of a cluster (wattle model record), and write the network if other days confirm it",
      "wattle-sim improve"};
  app.add_option("record", arguments.record_file, "file written by wattle model record")->required();
  app.add_option("--model", arguments.model_file, "initial network: a file, or a checkpoint of a controller")
      ->required();
  auto* out =
      app.add_option("--out", arguments.out_file, "safetensors file to write if the network is significantly better");
  auto* work =
      app.add_option("--work", arguments.work_dir, "folder for labels, so that an interrupted run can continue");
  auto* shard =
      app.add_option("--shard", arguments.shard, "I/N, I from 0: only create the labels of this share, in --work")
          ->needs(work)
          ->excludes(out);
  app.add_flag("--merge", arguments.merge, "learn from the labels of all shares in --work")
      ->needs(work)
      ->excludes(shard);
  app.add_option("--json", arguments.json_file, "write the verdict to this file");
  add_checked(app, "--days", arguments.improve.days.most,
              "number of last days of the record; a quarter of them is for evaluation", CLI::Range(2, 366));
  add_checked(app, "--day-hours", arguments.day_h, "whole hours of a day", CLI::Range(1.0, 24.0));
  app.add_flag("--sleep", arguments.improve.days.idle_nodes_sleep, "idle nodes are powered down");
  add_checked(app, "--per-day", hindsight.labels.per_episode, "evaluated decisions of each day", CLI::Range(1, 10'000));
  add_checked(app, "--horizon", hindsight.labels.horizon_lives, "number of mean lifetimes that a choice is followed",
              CLI::Range(0.1, 10.0));
  add_checked(app, "--plays", hindsight.plays,
              "number of simulated days to choose a pass, and at least as many for the verdict; in other orders if "
              "fewer were recorded",
              CLI::Range(2, 1000));
  add_checked(app, "--epochs", hindsight.imitate.epochs, "passes over the labels", CLI::Range(1, 1000));
  add_checked(app, "--anchor", hindsight.imitate.anchor_share,
              "share of the initial network's own choice in every target", CLI::Range(0.0, 0.99));
  add_checked(app, "--learning-rate", arguments.trainer.learning_rate, "learning rate of Adam", CLI::Range(1e-7, 1.0));
  app.add_option("--seed", arguments.trainer.seed, "seed of the order of labels")->capture_default_str();
  app.callback([&] {
    if (arguments.shard.empty() && arguments.out_file.empty())
      throw CLI::ValidationError("--out", "is missing: set the file to write");
    if (std::floor(arguments.day_h) != arguments.day_h)
      throw CLI::ValidationError("--day-hours", "is not a whole number");
  });
  return run_command(app, argc, argv, [&] { return run(arguments); });
}

}  // namespace wattle::sim::commands
