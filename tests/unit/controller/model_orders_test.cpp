// Orders about networks on a trainer's own thread, with a fake network behind the interface.
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "common/json/value.hpp"
#include "controller/trainer/make_network.hpp"
#include "controller/trainer/model_service.hpp"
#include "controller/trainer/trainer.hpp"
#include "controller/web/model_json.hpp"
#include "models/frozen/layout.hpp"
#include "models/frozen/prefixed.hpp"
#include "models/frozen/pretrained.hpp"
#include "models/frozen/safetensors.hpp"
#include "placement/worth/features.hpp"
#include "tests/patience.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace std::chrono_literals;
using json = wattle::SortedJson;

namespace {

// The value head gives `bias` to every node; each step adds one.
class FakeNetwork final : public models::QTrainer {
 public:
  Result<models::StepStats> step(std::span<const models::Transition* const>) override {
    ++steps_;
    weights_.at("value.out.bias").values[0] += 1;
    return models::StepStats{0.5, 0.25, 1, 0, steps_, 0.125, 1};
  }
  std::uint64_t steps() const override { return steps_; }
  models::Weights weights() const override { return weights_; }
  models::Weights checkpoint() const override {
    models::Weights all;
    models::add_prefixed(all, weights_, "online.");
    all["steps"] = {{1}, {static_cast<float>(steps_)}};
    return all;
  }
  Status restore(const models::Weights& saved) override {
    if (!saved.contains("steps")) return fail(Errc::malformed, "network", "has no steps");
    weights_ = models::with_prefix(saved, "online.");
    steps_ = static_cast<std::uint64_t>(saved.at("steps").values[0]);
    return {};
  }

 private:
  models::Weights weights_ = models::initial_weights(1);
  std::uint64_t steps_ = 0;
};

models::Observation two_nodes() {
  models::Observation observation;
  observation.nodes = 2;
  observation.node.assign(2 * models::kNodeFeatures, 0.5F);
  observation.prior = {0.25F, 0};
  observation.valid = {1, 1};
  return observation;
}

struct OrdersRig {
  std::string path = (std::filesystem::temp_directory_path() / "wattle-orders-XXXXXX").string();
  SystemClock clock;
  Log log = Log::silent();
  LearnConfig config;
  ServingModel slot;
  std::unique_ptr<Trainer> trainer;

  OrdersRig() {
    REQUIRE(mkdtemp(path.data()) != nullptr);
    config.steps_per_s = 0.01;  // a test takes only the steps that it requests
    config.max_abs_residual = 50;
    start();
  }
  OrdersRig(const OrdersRig&) = delete;
  OrdersRig& operator=(const OrdersRig&) = delete;
  ~OrdersRig() {
    trainer.reset();
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  void start() {
    auto started = Trainer::start(config, {}, path, std::make_unique<FakeNetwork>(), slot, clock, log);
    REQUIRE(started);
    trainer = std::move(*started);
  }
  Result<std::string> order(ModelOrder::What what, const std::string& name = "") {
    return trainer->order({what, name}).get();
  }
  json models() const { return json::parse(models_text(trainer->models())); }
  float value() const {
    std::vector<float> out(2);
    slot.get()->residual(two_nodes(), out);
    return out[0];
  }
  // Writes a checkpoint of a network with this value, as another process would.
  void put(const std::string& name, float bias, const std::string& schema = placement::feature_schema_hash(),
           const std::string& certificate = "") {
    FakeNetwork network;
    models::Weights all;
    models::Weights tensors = network.checkpoint();
    tensors.at("online.value.out.bias").values[0] = bias;
    models::add_prefixed(all, tensors, models::kNetworkPrefix);
    models::Manifest manifest;
    manifest.schema = schema;
    manifest.certificate = certificate;
    REQUIRE(models::CheckpointDir::open_(path + "/checkpoints")->save_as(name, all, manifest));
  }
  // Writes the last checkpoint of training, without a network that an operator loaded.
  void put_learned(float bias) {
    models::Weights all, tensors = FakeNetwork().checkpoint();
    tensors.at("online.value.out.bias").values[0] = bias;
    models::add_prefixed(all, tensors, models::kNetworkPrefix);
    models::Manifest manifest;
    manifest.schema = placement::feature_schema_hash();
    manifest.step = 1000;
    REQUIRE(models::CheckpointDir::open_(path + "/checkpoints")->save(all, manifest));
  }
};

using What = ModelOrder::What;

}  // namespace

TEST_CASE("a network that is saved under a name is listed, and serves again when it is loaded") {
  OrdersRig rig;
  CHECK(rig.value() == 0.0F);
  REQUIRE(rig.order(What::save, "first"));
  json models = rig.models();
  REQUIRE(models["models"].size() == 1);
  CHECK(models["models"][0]["name"] == "first");
  CHECK(models["models"][0]["active"] == true);
  CHECK(models["models"][0]["network_sha256"] == rig.slot.serving().version.sha256);
  CHECK(models["models"][0]["fault"] == nullptr);
  rig.put("other", 7);
  REQUIRE(rig.order(What::load, "other"));
  CHECK(rig.value() == 7.0F);
  models = rig.models();
  CHECK(models["serving"]["loaded_from"] == "other");
  CHECK(rig.slot.serving().version.loaded_from == "other");
  CHECK(models["models"][0]["active"] == false);  // first
  REQUIRE(rig.order(What::load, "first"));
  CHECK(rig.value() == 0.0F);
  CHECK(rig.models()["models"][0]["active"] == true);
}

TEST_CASE("an external network is kept under its name with its evidence, and serves when it is loaded") {
  OrdersRig rig;
  models::Safetensors file{models::initial_weights(3), {}};
  file.metadata = {{"network_sha256", models::network_digest(file.tensors)},
                   {"reward", "weighted"},
                   {"feature_schema", placement::feature_schema_hash()},
                   {"certificate", "it was better on Tuesday"}};
  const auto add = [&](const std::string& name) {
    return rig.trainer->order({What::add, name, models::to_safetensors(file)}).get();
  };
  const auto added = add("grown");
  if (!added && added.error().code == Errc::unsupported) return;  // built without libtorch
  REQUIRE(added);
  const auto kept =
      models::CheckpointDir::open_(rig.path + "/checkpoints")->load("grown", placement::feature_schema_hash());
  REQUIRE(kept);
  CHECK(kept->manifest.certificate == "it was better on Tuesday");
  CHECK(kept->manifest.network == file.metadata["network_sha256"]);
  const json models = rig.models();
  REQUIRE(models["models"].size() == 1);
  CHECK(models["models"][0]["name"] == "grown");
  CHECK(models["models"][0]["active"] == false);
  CHECK(add("promoted").error().code == Errc::conflict);
  CHECK(add("no name").error().code == Errc::malformed);
  file.metadata["reward"] = "lb";
  CHECK(add("other").error().code == Errc::conflict);
  file.metadata["reward"] = "weighted";
  file.tensors.begin()->second.values[0] += 1;
  CHECK(add("other").error().message().find("damaged") != std::string::npos);
}

TEST_CASE("the evidence for a loaded network is reported with it until the network learns") {
  OrdersRig rig;
  rig.put("proven", 7, placement::feature_schema_hash(), "it was better on Tuesday");
  REQUIRE(rig.order(What::load, "proven"));
  CHECK(rig.slot.serving().trusted_version.certificate == "it was better on Tuesday");
  CHECK(rig.slot.serving().trusted_version.loaded_from == "proven");
}

TEST_CASE("the list of models has the figures of learning once they are known") {
  const OrdersRig rig;
  CHECK(json::parse(models_text(rig.trainer->models()))["learning"]["td_error"].is_null());
  const json learning = json::parse(models_text(rig.trainer->models(), {0.9, 1.1, 0.25, std::nullopt}))["learning"];
  CHECK(learning["mean_reward"] == 0.9);
  CHECK(learning["reward_centre"] == 1.1);
  CHECK(learning["td_error"] == 0.25);
  CHECK(learning["loss"].is_null());
}

TEST_CASE("a restart reports the training history before its first step, and why a checkpoint was skipped") {
  OrdersRig rig;
  rig.trainer.reset();
  rig.config.warmup = rig.config.n_step = 1;
  rig.config.batch = 2;
  rig.config.steps_per_s = 50;
  rig.start();
  for (std::uint64_t id = 1; id <= 40; ++id) {
    rig.trainer->post(PlacedNews{id, two_nodes(), static_cast<std::uint32_t>(id % 2), rig.clock.mono()});
    rig.trainer->post(SettledNews{id, {}});
  }
  CHECK(wattle::tests::wait_until([&] { return rig.trainer->figures().steps > 0; }));
  rig.trainer.reset();  // writes a checkpoint
  rig.start();          // takes no step before a new outcome
  const TrainerFigures figures = rig.trainer->figures();
  CHECK(figures.td_error.value() == doctest::Approx(1));  // at each of the fake network's steps
  CHECK(figures.reward_centre.value() != 0);
  CHECK(figures.loss.value() == doctest::Approx(0.5));
  CHECK(figures.mean_q.value() == doctest::Approx(0.25));
  const json sound = rig.models()["models"];
  for (const json& each : sound) CHECK(each["fault"].is_null());

  rig.trainer->post(PlacedNews{41, two_nodes(), 0, rig.clock.mono()});
  rig.trainer.reset();  // writes another
  std::vector<std::string> weights;
  for (const auto& entry : std::filesystem::directory_iterator(rig.path + "/checkpoints"))
    if (entry.path().extension() == ".safetensors") weights.push_back(entry.path().string());
  std::sort(weights.begin(), weights.end());
  REQUIRE(weights.size() == 2);
  std::ofstream(weights.back(), std::ios::app) << "damage";
  rig.start();
  const json listed = rig.models()["models"];
  REQUIRE(listed.size() == 2);
  CHECK(listed[0]["fault"].get<std::string>().find("is damaged") != std::string::npos);
  CHECK(listed[0]["active"] == false);
  CHECK(listed[1]["fault"].is_null());
  CHECK(listed[1]["active"] == true);
  CHECK(rig.trainer->figures().reward_centre == figures.reward_centre);
}

TEST_CASE("curves for TensorBoard have the rewards of outcomes") {
  OrdersRig rig;
  rig.trainer->post(PlacedNews{1, two_nodes(), 0, rig.clock.mono()});
  rig.trainer->post(SettledNews{1, {}});
  REQUIRE(rig.order(What::save, "barrier"));
  rig.trainer.reset();
  std::string drawn;
  for (const auto& entry : std::filesystem::directory_iterator(rig.path + "/events")) {
    std::ifstream in(entry.path(), std::ios::binary);
    drawn.append(std::istreambuf_iterator<char>(in), {});
  }
  CHECK(drawn.find("reward/mean") != std::string::npos);
}

TEST_CASE("a damaged, incompatible or out-of-bounds network is not loaded, and the old network keeps serving") {
  OrdersRig rig;
  rig.put("loud", 1000);
  rig.put("old", 1, "another-schema");
  rig.put("torn", 1);
  std::ofstream(rig.path + "/checkpoints/torn.safetensors", std::ios::app) << "x";
  // Recent decisions judge it.
  rig.trainer->post(PlacedNews{1, two_nodes(), 0, rig.clock.mono()});
  for (const auto& [name, code] : std::vector<std::pair<std::string, Errc>>{{"loud", Errc::out_of_range},
                                                                            {"old", Errc::unsupported},
                                                                            {"torn", Errc::malformed},
                                                                            {"missing", Errc::not_found}}) {
    const auto answer = rig.order(What::load, name);
    REQUIRE_FALSE(answer);
    CHECK(answer.error().code == code);
    CHECK(rig.value() == 0.0F);
  }
  CHECK(rig.order(What::load, "../x").error().code == Errc::malformed);
}

TEST_CASE("a promotion keeps the serving network: the anchor if it serves, otherwise the learning network") {
  if (!make_network(LearnConfig{})) return;  // built without libtorch
  for (const bool of_trusted : {true, false}) {
    OrdersRig rig;
    rig.put("trusted", 3);
    REQUIRE(rig.order(What::load, "trusted"));
    REQUIRE(rig.order(What::promoted));
    rig.trainer.reset();
    rig.put_learned(9);
    rig.start();  // continues with the learned network, anchored to the trusted one
    REQUIRE(rig.value() == 9.0F);
    rig.put(kPromotedModel, 5);
    REQUIRE(rig.trainer->order({What::promoted, {}, {}, of_trusted}).get());
    const auto kept =
        models::CheckpointDir::open_(rig.path + "/checkpoints")->load(kPromotedModel, placement::feature_schema_hash());
    REQUIRE(kept);
    const models::Weights network = models::with_prefix(kept->tensors, models::kOnlinePrefix);
    CHECK(network.at("value.out.bias").values[0] == (of_trusted ? 3.0F : 9.0F));
    CHECK(kept->manifest.network == models::network_digest(network));
  }
}

TEST_CASE("a promoted network is restored by bring-back, also after a restart, and its name is reserved") {
  OrdersRig rig;
  CHECK(rig.order(What::bring_back).error().code == Errc::not_found);
  REQUIRE(rig.order(What::promoted));
  rig.put("other", 7);
  REQUIRE(rig.order(What::load, "other"));
  rig.trainer.reset();
  rig.start();
  CHECK(rig.value() == 7.0F);
  REQUIRE(rig.order(What::bring_back));
  CHECK(rig.value() == 0.0F);
  CHECK(rig.models()["serving"]["loaded_from"] == kPromotedModel);
  CHECK(rig.order(What::save, kPromotedModel).error().code == Errc::conflict);
}

TEST_CASE("the desk replies after the trainer, audits changes, and refuses invalid orders") {
  OrdersRig rig;
  auto rollout = RolloutManager::open_({}, "", {}, rig.clock, rig.log);
  REQUIRE(rollout);
  ModelService desk(*rig.trainer, *rollout);
  const auto reply = [&](const std::string& what, const std::map<std::string, std::string>& arguments) {
    desk.take({9, what, arguments}, "operator/ann", "route");
    const MonoTime patience = rig.clock.mono() + wattle::tests::late();
    for (;;) {
      auto done = desk.done();
      if (!done.empty()) {
        REQUIRE(done.size() == 1);
        CHECK(done[0].route == "route");
        CHECK(done[0].reply.request_id == 9);
        return done[0].reply;
      }
      REQUIRE(rig.clock.mono() < patience);
    }
  };
  CHECK(reply("model-save", {{"name", "mine"}, {"why", "before a trial"}}).ok);
  CHECK(rollout->document()["changes"][0]["who"] == "operator/ann");
  CHECK(rollout->document()["changes"][0]["what"] == "model saved: step 0 as mine");
  CHECK(rollout->document()["changes"][0]["why"] == "before a trial");
  const auto listed = json::parse(reply("model-load", {{"name", "mine"}}).body);
  CHECK(listed["models"][0]["active"] == true);
  const auto refused = reply("model-load", {{"name", "nobody"}});
  CHECK_FALSE(refused.ok);
  CHECK(rollout->document()["changes"][0]["what"].get<std::string>().starts_with("not done: model loaded"));
  const std::size_t changes = rollout->document()["changes"].size();
  CHECK_FALSE(reply("model-load", {}).ok);
  CHECK_FALSE(reply("model-load", {{"name", "mine"}, {"color", "red"}}).ok);
  CHECK_FALSE(reply("model-delete", {{"name", "mine"}}).ok);
  CHECK(rollout->document()["changes"].size() == changes);
  Learning none;
  ModelService off(none, *rollout);
  off.take({1, "model-save", {{"name", "mine"}}}, "operator/ann", "route");
  CHECK(off.done().at(0).reply.error.find("learning is off") != std::string::npos);
}
