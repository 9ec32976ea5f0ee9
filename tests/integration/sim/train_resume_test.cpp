// Checkpoints of `wattle-sim train` through real files: a training resumes from one, and a controller loads it.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "common/dir.hpp"
#include "controller/trainer/make_network.hpp"
#include "controller/trainer/trainer.hpp"
#include "models/frozen/checkpoint.hpp"
#include "models/frozen/frozen_network.hpp"
#include "models/frozen/safetensors.hpp"
#include "placement/worth/features.hpp"
#include "tests/places.hpp"

using namespace wattle;

namespace {

struct TrainRig {
  std::string path = (std::filesystem::temp_directory_path() / "wattle-resume-XXXXXX").string();
  TrainRig() { REQUIRE(mkdtemp(path.data()) != nullptr); }
  TrainRig(const TrainRig&) = delete;
  TrainRig& operator=(const TrainRig&) = delete;
  ~TrainRig() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }

  bool train(int steps, const std::string& more) const {
    const std::string command = tests::bin_dir() +
                                "/wattle-sim train --scenario churn_sleep --nodes 4 --placements 80" + " --steps " +
                                std::to_string(steps) + " --out " + path + "/out.safetensors --keep " + path +
                                "/checkpoints " + more + " >" + path + "/log 2>&1";
    return std::system(command.c_str()) == 0;
  }
  std::string reported() const { return read_file(path + "/log", 1 << 20).value(); }
  models::LoadedCheckpoint kept(const std::string& name) const {
    return models::CheckpointDir::open_(path + "/checkpoints")->load(name, placement::feature_schema_hash()).value();
  }
};

models::Observation three_nodes() {
  models::Observation seen;
  seen.nodes = 3;
  seen.valid = {1, 1, 1};
  seen.prior = {0, -0.5F, -1};
  for (std::size_t i = 0; i < 3 * models::kNodeFeatures; ++i) seen.node.push_back(0.01F * static_cast<float>(i % 40));
  return seen;
}

}  // namespace

TEST_CASE("a training resumes from its checkpoint, and `wattle model load` accepts it") {
  const TrainRig rig;
  REQUIRE_MESSAGE(rig.train(600, ""), rig.reported());
  const models::LoadedCheckpoint first = rig.kept("trained");
  CHECK(first.manifest.figures.at("decisions") == 600);
  CHECK(first.manifest.step > 0);

  CHECK_FALSE(rig.train(600, "--resume"));
  CHECK(rig.reported().find("has already learned from 600") != std::string::npos);
  CHECK_FALSE(rig.train(700, "--resume --name other"));
  CHECK(rig.reported().find("other") != std::string::npos);
  REQUIRE_MESSAGE(rig.train(700, "--resume"), rig.reported());
  const models::LoadedCheckpoint second = rig.kept("trained");
  CHECK(second.manifest.figures.at("decisions") == 700);
  CHECK(second.manifest.figures.at("episodes") > first.manifest.figures.at("episodes"));
  // The replay is restored: learning starts with the first decision, one step for each.
  CHECK(second.manifest.step == first.manifest.step + 100);

  controller::LearnConfig config;
  config.steps_per_s = 0.01;
  config.max_abs_residual = 1e6;
  const SystemClock clock;
  const Log log = Log::silent();
  controller::ServingModel slot;
  auto trainer =
      controller::Trainer::start(config, {}, rig.path, controller::make_network(config, {}).value(), slot, clock, log);
  REQUIRE(trainer);
  const auto loaded = (*trainer)->order({controller::ModelOrder::What::load, "trained"}).get();
  REQUIRE_MESSAGE(loaded, (loaded ? std::string() : loaded.error().message()));
  CHECK(*loaded == "step " + std::to_string(second.manifest.step) + " from trained");
  CHECK(slot.serving().version.sha256 == second.manifest.network);

  const auto bytes = read_file(rig.path + "/out.safetensors", 64 << 20).value();
  const auto out = models::FrozenNetwork::from_weights(models::parse_safetensors(bytes, "out")->tensors, 0).value();
  const models::Observation seen = three_nodes();
  std::vector<float> by_file(3), by_controller(3);
  out->residual(seen, by_file);
  slot.get()->residual(seen, by_controller);
  CHECK(by_file == by_controller);
}
