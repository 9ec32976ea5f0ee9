// controller_bench: measures a whole controller in this process, over its real sockets.
//   controller_bench ask NODES [ASKS]    round trip and decide time of asks, while agents of NODES nodes send one record
//                                        per second each
//   controller_bench learn NODES [S]     gradient steps per second of the trainer's thread, unbounded and with its
//                                        default budget
// Absolute figures hold only for this machine and run.
#include <algorithm>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <iostream>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "common/json/value.hpp"
#include "common/transport/ask_client.hpp"
#include "common/wire/codec.hpp"
#include "controller/controller.hpp"
#include "controller/trainer/make_network.hpp"
#include "tests/unit/controller/helpers.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t kAgentsPerContext = 400;  // a context has at most about 1,000 sockets

[[noreturn]] void die(const Error& error) {
  std::cerr << error.message() << '\n';
  std::exit(1);
}
template <class T>
T must(Result<T> result) {
  if (!result) die(result.error());
  return std::move(*result);
}
void must(Status status) {
  if (!status) die(status.error());
}

std::string name_of(std::size_t i) { return "node-" + std::to_string(i); }

std::string temp_dir() {
  std::string pattern = (std::filesystem::temp_directory_path() / "wattle-bench-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) die({Errc::io, pattern, "cannot be made", ""});
  return pattern;
}

class Agents {
 public:
  Agents(std::size_t count, const std::vector<transport::KeyPair>& keys, const std::string& endpoint,
         const std::string& server_key) {
    for (std::size_t i = 0; i < count; ++i) {
      if (i % kAgentsPerContext == 0) contexts_.emplace_back();
      transport::ClientOptions options;
      options.endpoint = endpoint;
      options.key = keys[i];
      options.server_key = server_key;
      clients_.push_back(must(transport::Client::connect(contexts_.back(), options)));
    }
    greeted_.assign(count, false);
  }
  // Sends Hello for each client until it succeeds, and one record per greeted client.
  void tick(std::int64_t mono_ns) {
    ++seq_;
    for (std::size_t i = 0; i < clients_.size(); ++i) {
      if (!greeted_[i]) greeted_[i] = clients_[i].send(wire::encode(test::hello_of(name_of(i)))).has_value();
      Record record = test::record_at(seq_);
      record.mono_ns = mono_ns;
      record.node.cpu_used_cores = static_cast<double>(i % 8);
      if (greeted_[i]) (void)clients_[i].send(wire::encode(wire::Samples{{record}}));
      while (clients_[i].receive()) {
      }
    }
  }

 private:
  std::deque<transport::Context> contexts_;
  std::vector<transport::Client> clients_;
  std::vector<bool> greeted_;
  std::uint64_t seq_ = 0;
};

int bench_ask(std::size_t nodes, std::size_t asks) {
  const SystemClock clock;
  const Log log = Log::silent();
  const std::string dir = temp_dir();
  const transport::KeyPair server = transport::KeyPair::generate(), boss = transport::KeyPair::generate();
  transport::AllowList allow;
  std::vector<transport::KeyPair> keys;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < nodes; ++i) {
    keys.push_back(transport::KeyPair::generate());
    names.push_back(name_of(i));
    allow.allow(keys.back().public_key, {transport::Role::agent, names.back()});
  }
  allow.allow(boss.public_key, {transport::Role::operator_, "bench"});
  must(write_file_atomically(dir + "/allow", allow.text()));
  must(server.save(dir + "/key"));
  ControllerConfig config;
  config.mode = Mode::live;
  config.key_file = dir + "/key";
  config.allow_file = dir + "/allow";
  config.data_dir = dir + "/data";
  config.telemetry_endpoint = config.feed_endpoint = config.ask_endpoint = "tcp://127.0.0.1:0";
  config.http_port = 0;
  config.in_flight_expiry = 1s;
  auto controller = must(Controller::start(config, clock, log));
  {
    Agents agents(nodes, keys, controller->endpoints().telemetry, server.public_key);
    transport::Context context;
    transport::ClientOptions options;
    options.endpoint = controller->endpoints().ask;
    options.key = boss;
    options.server_key = server.public_key;
    auto client = must(transport::AskClient::connect(context, options));
    const auto status = [&] { return wattle::SortedJson::parse(must(client.query("status", {}, 30s))); };
    const MonoTime patience = clock.mono() + 120s;
    while (status()["samples"].get<std::uint64_t>() < 2 * nodes) {
      if (clock.mono() > patience) die({Errc::timeout, "agents", "did not all connect", ""});
      agents.tick(to_ns(clock.mono()));
      transport::poll({}, {}, 200ms);
    }
    std::vector<double> round_trip_us;
    MonoTime ticked = clock.mono();
    for (std::size_t i = 0; i < asks; ++i) {
      if (clock.mono() - ticked >= 1s) {
        agents.tick(to_ns(clock.mono()));
        ticked = clock.mono();
      }
      const MonoTime begin = clock.mono();
      must(client.ask(test::ask_for("pod-" + std::to_string(i), names), 5s));
      round_trip_us.push_back(seconds(clock.mono() - begin) * 1e6);
      transport::poll({}, {}, 2ms);
    }
    std::sort(round_trip_us.begin(), round_trip_us.end());
    const auto done = status();
    std::cout << nodes << " nodes, " << asks << " asks: decide p50 " << done["decide_p50_us"] << " us, p99 "
              << done["decide_p99_us"] << " us; round trip p50 " << round_trip_us[asks / 2] << " us, p99 "
              << round_trip_us[asks * 99 / 100] << " us\n";
  }
  controller.reset();
  std::filesystem::remove_all(dir);
  return 0;
}

PlacedNews placement(std::uint64_t id, std::size_t nodes, MonoTime when, std::mt19937& random) {
  std::uniform_real_distribution<float> uniform(0, 1);
  PlacedNews news{id, {}, static_cast<std::uint32_t>(id % nodes), when};
  news.observation.nodes = nodes;
  news.observation.node.resize(nodes * models::kNodeFeatures);
  for (float& value : news.observation.node) value = uniform(random);
  news.observation.prior.assign(nodes, -0.5F);
  news.observation.valid.assign(nodes, 1);
  return news;
}

int bench_learn(std::size_t nodes, double run_s) {
  for (const bool unbounded : {true, false}) {
    const SystemClock clock;
    const Log log = Log::silent();
    const std::string dir = temp_dir();
    LearnConfig config;
    if (unbounded) {
      config.steps_per_s = 100'000;
      config.duty_ratio = 1;
    }
    ServingModel slot;
    std::mt19937 random(1);
    auto trainer = must(Trainer::start(config, {}, dir, must(make_network(config)), slot, clock, log));
    const MonoTime begin = clock.mono();
    for (std::uint64_t id = 1; id <= 500; ++id) {
      trainer->post(placement(id, nodes, begin + id * 1ms, random));
      placement::RawOutcome outcome;
      outcome.before = placement::summed(std::vector<placement::WorkerBefore>(nodes), 0);
      outcome.marginal_w = static_cast<double>(id % 7);
      trainer->post(SettledNews{id, outcome});
    }
    transport::poll({}, {}, std::chrono::milliseconds(static_cast<std::int64_t>(run_s * 500)));
    const std::uint64_t from = trainer->figures().steps;
    const MonoTime start = clock.mono();
    transport::poll({}, {}, std::chrono::milliseconds(static_cast<std::int64_t>(run_s * 1000)));
    const double rate = static_cast<double>(trainer->figures().steps - from) / seconds(clock.mono() - start);
    std::cout << nodes << " nodes, batch " << config.batch << (unbounded ? ", unbounded: " : ", default budget: ")
              << rate << " gradient steps/s\n";
    trainer.reset();
    std::filesystem::remove_all(dir);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const auto number = [&](std::size_t at, double otherwise) {
    return words.size() > at ? std::atof(words[at].c_str()) : otherwise;
  };
  if (!words.empty() && words[0] == "ask")
    return bench_ask(static_cast<std::size_t>(number(1, 100)), static_cast<std::size_t>(number(2, 1000)));
  if (!words.empty() && words[0] == "learn") return bench_learn(static_cast<std::size_t>(number(1, 8)), number(2, 5));
  std::cerr << "usage: controller_bench ask NODES [ASKS] | learn NODES [SECONDS]\n";
  return 2;
}
