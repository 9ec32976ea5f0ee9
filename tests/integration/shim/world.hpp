// world: a controller with scripted answers, and the files that a shim needs to start against it.
// Threads  the controller runs on its own thread
#pragma once

#include <doctest/doctest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "common/dir.hpp"
#include "common/transport/keys.hpp"
#include "common/transport/sockets.hpp"
#include "common/wire/codec.hpp"
#include "shim/service.hpp"

namespace wattle::tests {

using namespace std::chrono_literals;

// Answers asks on one thread, or stays silent; publishes a board on request.
class ScriptedController {
 public:
  ScriptedController(const transport::KeyPair& key, transport::AllowList allow, const Log& log, const std::string& ask,
                     const std::string& feed) {
    context_.serve(std::move(allow), log);
    auto server = transport::Server::bind(context_, {.endpoint = ask, .key = key});
    auto publisher = transport::Publisher::bind(context_, {.endpoint = feed, .key = key});
    REQUIRE(server);
    REQUIRE(publisher);
    ask_endpoint = server->endpoint();
    feed_endpoint = publisher->endpoint();
    thread_ = std::thread([this, s = std::move(*server), p = std::move(*publisher)]() mutable { run(s, p); });
  }
  ~ScriptedController() {
    stopping_ = true;
    thread_.join();
  }
  std::string ask_endpoint, feed_endpoint;
  std::atomic<bool> hung = false;
  std::atomic<double> ttl_ms = 60'000;
  std::atomic<int> asks = 0;
  std::mutex beat_mutex;  // guards the next member
  std::map<std::string, std::string> beat;

 private:
  void run(transport::Server& server, transport::Publisher& publisher) {
    std::uint64_t seq = 0;
    while (!stopping_) {
      const transport::Socket* sockets[] = {&server, &publisher};
      transport::poll(sockets, {}, 20ms);
      publisher.drain();
      wire::Board board;
      board.epoch = 1;
      board.seq = ++seq;
      board.ttl_ms = ttl_ms;
      board.neutral = false;
      board.classes = {{64.0, {{"a", 1}, {"b", 10}}}};
      publisher.publish(transport::kTopicBoard, wire::encode(wire::Message(board)));
      while (const auto incoming = server.receive()) {
        const auto message = wire::decode(incoming->bytes);
        if (message && std::holds_alternative<wire::Ask>(*message)) ++asks;
        if (hung) continue;
        if (const auto* query = message ? std::get_if<wire::Query>(&*message) : nullptr) {
          if (query->what == "shim") {
            const std::lock_guard lock(beat_mutex);
            beat = query->arguments;
            server.send(incoming->route, wire::encode(wire::Message(wire::Reply{query->request_id, true, "{}", ""})));
            continue;
          }
          const bool known = query->what == "latency" && query->arguments.at("target") == "users";
          const wire::Reply reply{query->request_id, known, R"({"acting":true,"nodes":{"a":10,"b":99}})", ""};
          server.send(incoming->route, wire::encode(wire::Message(reply)));
          continue;
        }
        const auto* ask = message ? std::get_if<wire::Ask>(&*message) : nullptr;
        if (ask == nullptr) continue;
        wire::Suggestion suggestion;
        suggestion.request_id = ask->request_id;
        suggestion.neutral = false;
        for (const auto& node : ask->candidates) suggestion.scores.push_back(node == "a" ? 10 : 4);
        server.send(incoming->route, wire::encode(wire::Message(suggestion)));
      }
    }
  }
  transport::Context context_;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

struct World {
  World() {
    folder = std::filesystem::temp_directory_path() / ("wattle-shim-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder);
    std::filesystem::remove(folder / "shim.key");
    REQUIRE(shim_key.save((folder / "shim.key").string()));
    REQUIRE(write_file_atomically((folder / "server.pub").string(), server_key.public_key + "\n"));
    allow.allow(shim_key.public_key, {transport::Role::shim, "shim"});
  }
  ~World() { std::filesystem::remove_all(folder); }
  void start_controller(const std::string& ask = "tcp://127.0.0.1:0", const std::string& feed = "tcp://127.0.0.1:0") {
    controller.emplace(server_key, allow, log, ask, feed);
  }
  shim::ShimConfig config() const {
    shim::ShimConfig out;
    out.listen_port = 0;
    out.ask_endpoint = controller->ask_endpoint;
    out.feed_endpoint = controller->feed_endpoint;
    out.key_file = (folder / "shim.key").string();
    out.server_key_file = (folder / "server.pub").string();
    out.deadline = 300ms;  // far more than an answer takes, so that a busy machine changes nothing
    return out;
  }
  std::filesystem::path folder;
  Log log = Log::silent();
  SystemClock clock;
  ServiceNotify notify;
  transport::KeyPair server_key = transport::KeyPair::generate();
  transport::KeyPair shim_key = transport::KeyPair::generate();
  transport::AllowList allow;
  std::optional<ScriptedController> controller;
};

}  // namespace wattle::tests
