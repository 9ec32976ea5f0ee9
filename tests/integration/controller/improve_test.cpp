// Improvement from a cluster's own days, end to end: a controller exports a record, the built programs compute labels
// in
// shares (one process is killed), and the trained network is added and loaded.
#include <doctest/doctest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "common/dir.hpp"
#include "common/http/client.hpp"
#include "common/wire/codec.hpp"
#include "controller/store/store_file.hpp"
#include "models/frozen/layout.hpp"
#include "models/frozen/pretrained.hpp"
#include "models/frozen/safetensors.hpp"
#include "placement/worth/features.hpp"
#include "tests/integration/controller/shipped.hpp"
#include "tests/integration/controller/world.hpp"
#include "tests/patience.hpp"
#include "tests/places.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;
using json = wattle::SortedJson;

namespace {

constexpr std::int64_t kHour_s = 3600;

struct ShellRan {
  int exit_code = -1;
  std::string out, err;
};

std::string content_of(const std::string& path) {
  std::ifstream in(path);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

ShellRan shell(const World& world, const std::string& line) {
  const std::string whole = "cd '" + (world.dir / "") + "' && export HOME=. WATTLE_CONFIG= PATH='" + tests::bin_dir() +
                            "':\"$PATH\" && { " + line + "; } >out 2>err";
  const int status = std::system(whole.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, content_of(world.dir / "out"), content_of(world.dir / "err")};
}

ShellRan cli(const World& world, const std::string& words) {
  return shell(world, "wattle " + words + " --timeout 20s --key operator --server-key server.pub --server " +
                          world.controller->endpoints().ask);
}

// Six hours that end at the last whole hour, in which pods started and ended, as an earlier controller stored them.
void live_for_hours(const std::string& path, std::int64_t now_s) {
  StoreFileOptions options;
  options.path = path;
  auto file = StoreFile::open_(options);
  REQUIRE(file);
  const std::int64_t from_s = now_s - now_s % kHour_s - 6 * kHour_s;
  std::vector<PodFacts> pods;
  for (int i = 0; i < 96; ++i) {
    PodFacts pod;
    pod.uid = "past-" + std::to_string(1000 + i);
    pod.owner = "ReplicaSet/app-" + std::to_string(i % 4);
    pod.app = pod.owner + " image:" + std::to_string(i % 4);
    pod.cpu_millicores = 1000;
    pod.memory_bytes = 1 << 20;
    pod.node = World::name(static_cast<std::size_t>(i % 3 == 0 ? 1 : 0));
    pod.placed_s = from_s + i * 225;
    pod.ended_s = pod.placed_s + 600 + 300 * (i % 5);
    pods.push_back(pod);
  }
  std::map<std::string, std::uint64_t> seqs;
  for (std::int64_t at_s = from_s + 30; at_s < from_s + 6 * kHour_s; at_s += 60) {
    std::vector<StoreItem> items;
    for (std::size_t n = 0; n < 2; ++n) {
      StoreItem item;
      item.node = World::name(n);
      item.record = record_at(++seqs[item.node], 1);
      item.mark = {1, seqs[item.node]};
      std::uint64_t cpu_us = 0;
      for (std::size_t i = 0; i < pods.size(); ++i) {
        if (pods[i].node != item.node || pods[i].placed_s > at_s || pods[i].ended_s <= at_s) continue;
        item.record.workloads.push_back(pod_values(pods[i].uid, 60 * (100'000 + 150'000 * (i % 4))));
        cpu_us += 60 * (100'000 + 150'000 * (i % 4));
      }
      item.record.node.energy_source = EnergySource::rapl;
      item.record.node.energy_uj = std::uint64_t{60} * 50'000'000 + 5 * cpu_us;
      item.bytes = wire::encode_record(item.record);
      items.push_back(std::move(item));
    }
    REQUIRE(file->apply(items, at_s));
  }
  REQUIRE(file->usage().put(pods, from_s + 6 * kHour_s));
  REQUIRE(file->write_ledger());
}

json record_rows(const std::string& path, const std::string& kind) {
  json rows = json::array();
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);)
    if (const json object = json::parse(line); object.contains(kind)) rows.push_back(object[kind]);
  return rows;
}

}  // namespace

TEST_CASE("a network learns in shares from a controller's recorded days and is loaded through the gates") {
  if (cannot_learn()) return;
  World world(2);
  world.config.store.path = world.dir / "store.db";
  world.config.learn.steps_per_s = 0.01;
  live_for_hours(world.config.store.path, to_ns(world.clock.wall()) / 1'000'000'000);
  world.start();
  Agents agents;  // started later than the stored incarnations
  for (std::size_t i = 0; i < 2; ++i) agents.push_back(std::make_unique<ScriptedAgent>(world, i, 2));
  REQUIRE(
      run_until(world, agents, [&] { return agents[0]->status().acked_seq > 2 && agents[1]->status().acked_seq > 2; }));
  REQUIRE(world.operator_key.save(world.dir / "operator"));
  std::ofstream(world.dir / "server.pub") << world.server.public_key << "\n";

  // The record has the same content by socket, by HTTP and in the file.
  const ShellRan written = cli(world, "model record record.jsonl --since 2d");
  CAPTURE(written.err);
  REQUIRE(written.exit_code == 0);
  const json pods = record_rows(world.dir / "record.jsonl", "pods");
  REQUIRE(pods.size() == 96);
  CHECK(pods[5]["owner"] == "ReplicaSet/app-1");
  CHECK(pods[5]["used_cores"][0].get<double>() == doctest::Approx(0.25).epsilon(0.15));
  CHECK(record_rows(world.dir / "record.jsonl", "nodes").size() == 2);
  CHECK(record_rows(world.dir / "record.jsonl", "hours").size() >= 12);
  auto reader = world.ask_client(world.reader);
  CHECK(answer(reader, "record", {{"of", "pods"}})["rows"] == pods);
  http::Client web("127.0.0.1", world.controller->endpoints().http_port);
  CHECK(json::parse(web.request("GET", "/api/v1/record?of=pods", "", wattle::tests::soon())->body)["rows"] == pods);
  CHECK(web.request("GET", "/api/v1/record?of=wishes", "", wattle::tests::soon())->status == 400);
  CHECK(cli(world, "model record record.jsonl").exit_code == 1);  // the file exists
  REQUIRE(cli(world, "model record hidden.jsonl --hash-names").exit_code == 0);
  const json hidden = record_rows(world.dir / "hidden.jsonl", "pods");
  REQUIRE(hidden.size() == 96);
  CHECK(hidden[0]["owner"] == hidden[4]["owner"]);
  CHECK(hidden[0]["owner"] != hidden[1]["owner"]);
  const std::string reported = content_of(world.dir / "hidden.jsonl");
  for (const char* name : {"ReplicaSet", "image:", "\"n0\""}) CHECK(reported.find(name) == std::string::npos);

  // Computes labels with one process, and with four of which one is killed after its first output.
  REQUIRE(cli(world, "model save base").exit_code == 0);
  const std::string ask =
      "wattle-sim improve record.jsonl --model data/checkpoints/base.safetensors --day-hours 1 --per-day 6 "
      "--plays 4 --epochs 1 ";
  const ShellRan alone = shell(world, ask + "--work alone --out kept --json alone.json");
  CAPTURE(alone.err);
  REQUIRE(alone.exit_code == 0);
  CHECK(shell(world, ask + "--work four --merge --out kept").exit_code == 1);  // there are no shares to merge
  for (const char* shard : {"0/4", "1/4", "3/4"})
    REQUIRE(shell(world, ask + "--work four --shard " + shard).exit_code == 0);
  const ShellRan missing = shell(world, ask + "--work four --merge --out kept");
  CHECK(missing.exit_code == 1);
  CHECK(missing.err.find("labels-2-of-4.safetensors: is missing") != std::string::npos);
  const std::string part = "four/labels-2-of-4.safetensors";
  REQUIRE(shell(world, ask + "--work four --shard 2/4 & pid=$!; while [ ! -e " + part +
                           " ]; do sleep 0.01; done; kill -9 $pid; wait $pid || true")
              .exit_code == 0);
  REQUIRE(shell(world, ask + "--work four --shard 2/4").exit_code == 0);
  const ShellRan merged = shell(world, ask + "--work four --merge --out kept --json four.json");
  CAPTURE(merged.err);
  REQUIRE(merged.exit_code == 0);
  const json verdict = json::parse(content_of(world.dir / "alone.json"));
  CHECK(content_of(world.dir / "four.json") == content_of(world.dir / "alone.json"));
  CHECK(verdict["labels"].get<int>() > 0);
  CHECK(verdict["measured_node_hours"].get<int>() >= 8);
  CHECK(verdict["kept"] == std::filesystem::exists(world.dir / "kept"));

  // Adds the trained network.
  models::Safetensors grown{models::initial_weights(3), {}};
  grown.metadata = {{"network_sha256", models::network_digest(grown.tensors)},
                    {"reward", "weighted"},
                    {"feature_schema", placement::feature_schema_hash()},
                    {"certificate", "other days confirm it"}};
  REQUIRE(write_file_atomically(world.dir / "grown", models::to_safetensors(grown)));
  const ShellRan added = cli(world, "model add grown grown --why test");
  CAPTURE(added.err);
  REQUIRE(added.exit_code == 0);
  CHECK(added.out.find("grown") != std::string::npos);
  REQUIRE(cli(world, "model load grown").exit_code == 0);
  const json models = answer(reader, "models");
  CHECK(models["serving"]["loaded_from"] == "grown");
  CHECK(models["serving"]["network_sha256"] == grown.metadata["network_sha256"]);
  std::ofstream(world.dir / "noise") << "noise";
  const ShellRan refused = cli(world, "model add noise noise");
  CHECK(refused.exit_code == 1);
  CHECK(query(reader, "model-add", {{"name", "x"}}).error().message().find("permission denied: query model-add") !=
        std::string::npos);
}
