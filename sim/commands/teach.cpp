#include <CLI/CLI.hpp>
#include <cstdio>
#include <initializer_list>

#include "models/frozen/frozen_network.hpp"
#include "models/frozen/pretrained.hpp"
#include "models/torch/torch_trainer.hpp"
#include "sim/commands/arguments.hpp"
#include "sim/commands/commands.hpp"
#include "sim/commands/model_file.hpp"
#include "sim/commands/progress.hpp"
#include "sim/provision/teacher_judge.hpp"

namespace wattle::sim::commands {

namespace {

using Network = std::shared_ptr<const models::QNetwork>;

struct TeachArguments {
  ProvisionWorldArguments world;
  provision::TeachOptions teach;
  models::TrainerOptions trainer;
  std::size_t seeds = stats::kLeastSeeds;
  std::uint64_t first_seed = 2'000'000;
  double memory_gib = 0.25, memory_mib_per_rps = 2;
  std::string out_file, student_file, teacher_file, json_file, labels = "teacher", reward = "waste", initial_file;
};

// Rejects options that would be ignored silently.
Status check_teach(const CLI::App& app, const TeachArguments& arguments) {
  const auto given = [&](const char* option) { return app.count(option) > 0; };
  const auto unused = [&](std::initializer_list<const char*> options, const char* why, const char* fix) -> Status {
    for (const char* option : options)
      if (given(option)) return fail(Errc::conflict, option, why, fix);
    return {};
  };
  const bool from_file = !arguments.teacher_file.empty(), taught = !from_file && arguments.teach.hours > 0;
  const bool student = arguments.teach.rounds > 0;
  if (from_file && given("--hours") && arguments.teach.hours > 0)
    return fail(Errc::conflict, "--hours", "a teacher from a file cannot be trained", "omit --hours or --teacher");
  if (!taught)
    WATTLE_CHECK(
        unused({"--initial", "--out", "--reward"}, "no teacher is trained", "omit --teacher, and set --hours above 0"));
  if (!from_file && !taught && student && arguments.labels == "teacher")
    return fail(Errc::conflict, "--labels teacher", "there is no teacher",
                "use --teacher FILE, --hours above 0 or --rounds 0");
  if (!student) WATTLE_CHECK(unused({"--student-out", "--labels"}, "no student is trained", "set --rounds above 0"));
  if (!taught && !student)
    WATTLE_CHECK(
        unused({"--learning-rate"}, "neither a teacher nor a student is trained", "set --hours or --rounds above 0"));
  return {};
}

Result<Network> taught_network(const TeachArguments& arguments) {
  if (!arguments.teacher_file.empty()) {
    WATTLE_TRY(const models::Safetensors model, read_model(arguments.teacher_file));
    WATTLE_TRY(const Network network, models::FrozenNetwork::from_weights(model.tensors, 0, arguments.teacher_file));
    return network;
  }
  if (arguments.teach.hours == 0) return Network{};
  std::optional<models::Weights> initial;
  if (!arguments.initial_file.empty()) {
    WATTLE_TRY(auto model, read_model(arguments.initial_file));
    initial = std::move(model.tensors);
  }
  WATTLE_TRY(const auto trainer, models::make_torch_trainer(arguments.trainer, initial));
  WATTLE_TRY(const provision::Taught taught, provision::teach(arguments.teach, *trainer, ProgressBar().callback()));
  std::printf("teacher: %zu hours, %zu minutes, %zu gradient steps; cost of a minute: first %.3f, last %.3f\n",
              arguments.teach.hours, taught.minutes, taught.steps, taught.first_cost, taught.last_cost);
  if (!arguments.out_file.empty()) {
    models::Safetensors model{taught.weights, {}};
    model.metadata["network_sha256"] = models::network_digest(model.tensors);
    model.metadata["provisioning"] = "teacher";
    model.metadata["layout"] = models::provision::kLayout;
    WATTLE_CHECK(write_model(arguments.out_file, model));
  }
  WATTLE_TRY(const Network network, models::FrozenNetwork::from_weights(taught.weights, taught.steps));
  return network;
}

Result<Network> learned_student(const TeachArguments& arguments, const Network& teacher) {
  WATTLE_TRY(const auto trainer, models::make_torch_policy_trainer(arguments.trainer));
  WATTLE_TRY(const provision::Lessons lessons,
             provision::teach_student(arguments.teach, arguments.labels == "rule" ? nullptr : teacher, *trainer,
                                      ProgressBar().callback()));
  std::printf("student: %zu minutes with labels by the %s, agrees in %.1f%%\n", lessons.examples,
              arguments.labels.c_str(), 100 * lessons.agreement);
  if (!arguments.student_file.empty()) {
    WATTLE_CHECK(write_model(arguments.student_file, lessons.model()));
  }
  WATTLE_TRY(const Network network, models::FrozenNetwork::from_weights(lessons.weights, 0));
  return network;
}

Status run(TeachArguments& arguments) {
  provision::TeacherJudgeOptions options;
  WATTLE_TRY(options.traces, provision_traces(arguments.world));
  options.world = provision_world(arguments.world);
  options.world.memory_gib = arguments.memory_gib;
  options.world.memory_gib_per_rps = arguments.memory_mib_per_rps / 1024;
  options.world.most_replicas = 3;
  options.steer = arguments.teach.steer;
  options.seeds = arguments.seeds;
  options.first_seed = arguments.first_seed;
  arguments.teach.world = options.world;
  if (arguments.reward == "drpc") arguments.teach.reward = provision::TeacherReward::drpc;
  arguments.trainer.seed = arguments.teach.seed;
  WATTLE_TRY(const Network teacher, taught_network(arguments));
  Network student;
  if (arguments.teach.rounds > 0) {
    WATTLE_TRY(student, learned_student(arguments, teacher));
  }
  WATTLE_TRY(const provision::TeacherJudgement judgement,
             provision::judge_teacher(options, teacher, student, ProgressBar().callback()));
  std::fputs(provision::teacher_text(options, judgement).c_str(), stdout);
  if (arguments.json_file.empty()) return {};
  return write_whole(arguments.json_file, provision::teacher_json(options, judgement));
}

}  // namespace

int teach(int argc, char** argv) {
  TeachArguments arguments;
  arguments.trainer.huber_delta = 5;
  arguments.trainer.polyak = 0.01;
  CLI::App app{
      "Train a teacher for provisioning on synthetic rate traces, and a student with the inputs of a node; compare "
      "both with the integral rule on the given traces; everything is simulated",
      "wattle-sim teach"};
  add_provision_options(app, arguments.world);
  add_checked(app, "--hours", arguments.teach.hours, "hours of training of the teacher; 0: no teacher",
              CLI::Range(0, 100'000));
  add_checked(app, "--reward", arguments.reward, "reward of the teacher; the evaluation always uses the cost",
              CLI::IsMember({"waste", "drpc"}));
  app.add_option("--initial", arguments.initial_file, "safetensors file of a teacher to train further")
      ->check(CLI::ExistingFile);
  app.add_option("--seed", arguments.teach.seed, "seed of the training data and the network")->capture_default_str();
  app.add_option("--teacher", arguments.teacher_file, "safetensors file of a teacher, instead of training one");
  app.add_option("--out", arguments.out_file, "safetensors file for the teacher");
  add_checked(app, "--rounds", arguments.teach.rounds, "number of rounds of the student; 0: no student",
              CLI::Range(0, 100));
  add_checked(app, "--labels", arguments.labels, "source of the student's labels", CLI::IsMember({"teacher", "rule"}));
  app.add_option("--student-out", arguments.student_file, "safetensors file for the student");
  add_checked(app, "--learning-rate", arguments.trainer.learning_rate, "learning rate of Adam", CLI::Range(1e-7, 1.0));
  add_checked(app, "--over-price", arguments.teach.steer.price.over,
              "cost of all requests over target, relative to the need of the work; linear from 1% of a minute on",
              CLI::Range(0.0, 1000.0));
  add_checked(app, "--memory", arguments.memory_gib,
              "memory in GiB of a replica without requests; 0: no memory is simulated", CLI::Range(0.0, 1000.0));
  add_checked(app, "--memory-per-rate", arguments.memory_mib_per_rps, "additional memory in MiB per request/s",
              CLI::Range(0.0, 1e6));
  add_checked(app, "--seeds", arguments.seeds, "number of evaluation seeds", CLI::Range(1, 1000));
  app.add_option("--first-seed", arguments.first_seed, "first evaluation seed")->capture_default_str();
  app.add_option("--json", arguments.json_file, "file for the results of all arms and seeds");
  return run_command(app, argc, argv, [&]() -> Status {
    WATTLE_CHECK(check_teach(app, arguments));
    return run(arguments);
  });
}

}  // namespace wattle::sim::commands
