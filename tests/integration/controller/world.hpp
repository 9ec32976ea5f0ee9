// world: keys, files, a controller in this process on ports that the system picks, and scripted agents.
#pragma once

#include <doctest/doctest.h>
#include <unistd.h>
#include <algorithm>
#include <map>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/json/value.hpp"
#include "common/transport/ask_client.hpp"
#include "common/transport/outbox.hpp"
#include "common/transport/session.hpp"
#include "controller/controller.hpp"
#include "tests/patience.hpp"
#include "tests/unit/controller/helpers.hpp"

namespace wattle::controller::test {

using namespace std::chrono_literals;
using transport::KeyPair;
using transport::Role;

inline const std::chrono::milliseconds kPatience = tests::late();

class TempDir {
 public:
  TempDir() {
    std::string pattern = (std::filesystem::temp_directory_path() / "wattle-controller-XXXXXX").string();
    REQUIRE(mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

struct World {
  TempDir dir;
  Log log = Log::silent();
  SystemClock clock;
  KeyPair server = KeyPair::generate(), shim = KeyPair::generate(), reader = KeyPair::generate(),
          operator_key = KeyPair::generate();
  std::vector<KeyPair> agents;
  transport::Context context;
  ControllerConfig config;
  std::unique_ptr<Controller> controller;

  explicit World(std::size_t nodes) {
    transport::AllowList allow;
    for (std::size_t i = 0; i < nodes; ++i) {
      agents.push_back(KeyPair::generate());
      allow.allow(agents.back().public_key, {Role::agent, name(i)});
    }
    allow.allow(shim.public_key, {Role::shim, "shim"});
    allow.allow(reader.public_key, {Role::reader, "reader"});
    allow.allow(operator_key.public_key, {Role::operator_, "operator"});
    REQUIRE(write_file_atomically(dir / "allow", allow.text()));
    REQUIRE(server.save(dir / "controller.key"));
    config.mode = Mode::live;
    config.data_dir = dir / "data";
    config.key_file = dir / "controller.key";
    config.allow_file = dir / "allow";
    config.telemetry_endpoint = config.feed_endpoint = config.ask_endpoint = "tcp://127.0.0.1:0";
    config.http_port = 0;
    config.decide.epsilon = 0;
    config.settle_window = 200ms;
    config.learn.warmup = 4;
    config.learn.batch = 4;
    config.learn.n_step = 1;
    config.learn.freeze_every_steps = 2;
    config.learn.steps_per_s = 200;
  }
  static std::string name(std::size_t i) { return "n" + std::to_string(i); }
  void start() {
    auto started = Controller::start(config, clock, log);
    if (!started) FAIL(started.error().message());
    controller = std::move(*started);
  }
  transport::ClientOptions to(const std::string& endpoint, const KeyPair& key) const {
    transport::ClientOptions options;
    options.endpoint = endpoint;
    options.key = key;
    options.server_key = server.public_key;
    return options;
  }
  transport::AskClient ask_client(const KeyPair& key) {
    auto client = transport::AskClient::connect(context, to(controller->endpoints().ask, key));
    REQUIRE(client);
    return std::move(*client);
  }
};

// Acts as an agent: its session over an outbox, with records that the test defines.
class ScriptedAgent {
 public:
  ScriptedAgent(World& world, std::size_t index, std::uint64_t incarnation = 1)
      : clock_(world.clock),
        outbox_(10'000),
        incarnation_(incarnation),
        cores_(8 + 4 * static_cast<double>(index)),
        node_(World::name(index)) {
    auto client = transport::Client::connect(world.context,
                                             world.to(world.controller->endpoints().telemetry, world.agents[index]));
    REQUIRE(client);
    wire::Hello hello = hello_of(node_, incarnation);
    hello.cpu_cores = cores_;
    session_.emplace(std::move(*client), outbox_, std::move(hello), clock_, world.log, index + 1);
  }
  // One interval of 20 ms that ends now; each pod uses half a core.
  void tick() {
    Record record = record_at(++seq_, incarnation_);
    record.interval_ns = 20'000'000;
    record.mono_ns = to_ns(clock_.mono());
    record.node.cpu_used_cores = 1 + 0.5 * static_cast<double>(pods_.size());
    record.node.cpu_cores = cores_;
    record.node.energy_uj = 1'000'000 + 100'000 * pods_.size();  // 50 W + 5 W a pod
    for (const std::string& uid : pods_) {
      record.workloads.push_back(pod_values(uid, 10'000));
      if (uid == killed_) record.workloads.back().memory_oom_kills = 1;
    }
    if (also_) also_(record);
    REQUIRE(outbox_.push(std::move(record)));
  }
  void pump() { session_->pump(); }
  void place(const std::string& uid) {
    pods_.push_back(uid);
    session_->report({uid, node_, false, 7, 0});
  }
  // From now on each interval reports an out-of-memory kill of this pod.
  void kill(const std::string& uid) { killed_ = uid; }
  // Additional content of each record.
  void with(std::function<void(Record&)> also) { also_ = std::move(also); }
  const transport::SessionStatus& status() const { return session_->status(); }
  std::uint64_t seq() const { return seq_; }
  const std::string& node() const { return node_; }

 private:
  const Clock& clock_;
  transport::MemoryOutbox outbox_;
  std::uint64_t incarnation_, seq_ = 0;
  double cores_;  // nodes differ, because no equal node would be advised
  std::string node_, killed_;
  std::vector<std::string> pods_;
  std::function<void(Record&)> also_;
  std::optional<transport::AgentSession> session_;
};

// Agents tick every 20 ms and are pumped until `done` holds; blocks for at most 5 ms at a time.
inline bool run_until(World& world, std::vector<std::unique_ptr<ScriptedAgent>>& agents,
                      const std::function<bool()>& done) {
  const MonoTime until = world.clock.mono() + kPatience;
  MonoTime next = world.clock.mono();
  while (world.clock.mono() < until) {
    if (world.clock.mono() >= next) {
      for (auto& agent : agents) agent->tick();
      next = world.clock.mono() + 20ms;
    }
    for (auto& agent : agents) agent->pump();
    if (done()) return true;
    transport::poll({}, {}, 5ms);
  }
  return false;
}

using Agents = std::vector<std::unique_ptr<ScriptedAgent>>;

// Returns agents whose first records are acknowledged.
inline Agents connect_agents(World& world, std::size_t count) {
  Agents agents;
  for (std::size_t i = 0; i < count; ++i) agents.push_back(std::make_unique<ScriptedAgent>(world, i));
  REQUIRE(run_until(world, agents, [&] {
    return std::all_of(agents.begin(), agents.end(), [](const auto& agent) { return agent->status().acked_seq > 2; });
  }));
  return agents;
}

using Pairs = std::map<std::string, std::string>;

inline Result<wattle::SortedJson> query(transport::AskClient& client, const std::string& what,
                                        const Pairs& arguments = {}) {
  auto body = client.query(what, arguments, wattle::tests::late());
  if (!body) return forward_error(body);
  return wattle::SortedJson::parse(*body);
}
// A query that must succeed.
inline wattle::SortedJson answer(transport::AskClient& client, const std::string& what, const Pairs& arguments = {}) {
  auto body = query(client, what, arguments);
  if (!body) FAIL(body.error().message());
  return *body;
}

}  // namespace wattle::controller::test
