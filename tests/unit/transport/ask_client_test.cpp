#include "common/transport/ask_client.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <functional>
#include <optional>
#include <thread>

#include "common/wire/codec.hpp"
#include "world.hpp"

using namespace wattle;
using namespace wattle::transport;
using namespace wattle::transport::testing;

namespace {
using std::chrono::milliseconds;

// A controller's ask socket on a thread of its own.
class Responder {
 public:
  using Answer = std::function<void(Server&, const Incoming&, const wire::Message&)>;
  Responder(World& world, Answer answer) : answer_(std::move(answer)) {
    auto bound = Server::bind(world.context, world.server_options());
    REQUIRE(bound);
    server_.emplace(std::move(*bound));
    endpoint_ = server_->endpoint();
    thread_ = std::thread([this] { run(); });
  }
  ~Responder() {
    stop_ = true;
    thread_.join();
  }
  const std::string& endpoint() const { return endpoint_; }

 private:
  void run() {
    while (!stop_) {
      const Socket* sockets[] = {&*server_};
      poll(sockets, {}, milliseconds(20));
      while (const auto incoming = server_->receive()) {
        const auto message = wire::decode(incoming->bytes);
        if (message) answer_(*server_, *incoming, *message);
      }
    }
  }
  Answer answer_;
  std::optional<Server> server_;
  std::string endpoint_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

wire::Ask ask_for(const std::string& pod, std::vector<std::string> candidates) {
  wire::Ask ask;
  ask.pod_uid = pod;
  ask.candidates = std::move(candidates);
  return ask;
}

wire::Suggestion suggestion(const wire::Ask& ask) {
  wire::Suggestion answer;
  answer.request_id = ask.request_id;
  answer.neutral = false;
  answer.reason = ask.pod_uid;
  answer.scores.assign(ask.candidates.size(), 3);
  return answer;
}
}  // namespace

TEST_CASE("an ask is answered with a score for every candidate") {
  World world;
  std::atomic<double> deadline_ms{0};
  Responder responder(world, [&](Server& server, const Incoming& from, const wire::Message& message) {
    const auto& ask = std::get<wire::Ask>(message);
    deadline_ms = ask.deadline_ms;
    server.send(from.route, wire::encode(suggestion(ask)));
  });
  auto client = AskClient::connect(world.context, world.client_options(responder.endpoint(), world.shim_key));
  REQUIRE(client);
  for (int i = 0; i < 3; ++i) {
    const auto answer = client->ask(ask_for("pod", {"a", "b"}), kPatience);
    REQUIRE(answer);
    CHECK(answer->scores == std::vector<std::int64_t>{3, 3});
  }
  CHECK(deadline_ms == std::chrono::milliseconds(kPatience).count());
}

TEST_CASE("a late answer is not taken for the next ask's") {
  World world;
  std::optional<std::pair<std::string, wire::Ask>> held;
  Responder responder(world, [&](Server& server, const Incoming& from, const wire::Message& message) {
    const auto& ask = std::get<wire::Ask>(message);
    if (ask.pod_uid == "slow") {
      held.emplace(from.route, ask);
      return;
    }
    if (held) server.send(held->first, wire::encode(suggestion(held->second)));
    server.send(from.route, wire::encode(suggestion(ask)));
  });
  auto client = AskClient::connect(world.context, world.client_options(responder.endpoint(), world.shim_key));
  REQUIRE(client->ask(ask_for("first", {}), kPatience));  // the link is up
  const auto late = client->ask(ask_for("slow", {"a"}), milliseconds(20));
  REQUIRE_FALSE(late);
  CHECK(late.error().code == Errc::timeout);
  const auto next = client->ask(ask_for("quick", {"a", "b"}), kPatience);
  REQUIRE(next);
  CHECK(next->reason == "quick");
}

TEST_CASE("an answer with the wrong number of scores is refused") {
  World world;
  Responder responder(world, [](Server& server, const Incoming& from, const wire::Message& message) {
    auto answer = suggestion(std::get<wire::Ask>(message));
    answer.scores.push_back(10);
    server.send(from.route, wire::encode(answer));
  });
  auto client = AskClient::connect(world.context, world.client_options(responder.endpoint(), world.shim_key));
  const auto answer = client->ask(ask_for("pod", {"a"}), kPatience);
  REQUIRE_FALSE(answer);
  CHECK(answer.error().code == Errc::malformed);
  CHECK(answer.error().what == "returned 2 scores for 1 candidates");
}

TEST_CASE("a query returns the reply's body or its error") {
  World world;
  Responder responder(world, [](Server& server, const Incoming& from, const wire::Message& message) {
    const auto& query = std::get<wire::Query>(message);
    wire::Reply reply;
    reply.request_id = query.request_id;
    reply.ok = query.what == "nodes";
    // Larger than an agent's message may be.
    reply.body = reply.ok ? "[\"" + query.arguments.at("name") + std::string(2 << 20, 'x') + "\"]" : "";
    reply.error = reply.ok ? "" : "no such query";
    server.send(from.route, wire::encode(reply));
  });
  auto client = AskClient::connect(world.context, world.client_options(responder.endpoint(), world.shim_key));
  const auto body = client->query("nodes", {{"name", "n1"}}, kPatience);
  REQUIRE(body);
  CHECK(body->starts_with("[\"n1xxx"));
  const auto wrong = client->query("nonsense", {}, kPatience);
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().subject == responder.endpoint() + " nonsense");
  CHECK(wrong.error().what == "no such query");
}

TEST_CASE("a snapshot arrives as a message of its own") {
  World world;
  Responder responder(world, [](Server& server, const Incoming& from, const wire::Message& message) {
    const auto& query = std::get<wire::Query>(message);
    wire::Snapshot snapshot;
    snapshot.request_id = query.request_id;
    snapshot.seq = query.what == "snapshot" ? 12 : 0;
    server.send(from.route, wire::encode(snapshot));
  });
  auto client = AskClient::connect(world.context, world.client_options(responder.endpoint(), world.shim_key));
  CHECK(client->snapshot(kPatience).value().seq == 12);
  const auto reply = client->query("nodes", {}, kPatience);
  REQUIRE_FALSE(reply);
  CHECK(reply.error().what == "answered a query with a snapshot");
}

TEST_CASE("an unreachable controller is reported as such") {
  World world;
  const std::string endpoint = deserted_endpoint(world);
  auto client = AskClient::connect(world.context, world.client_options(endpoint, world.shim_key));
  const auto query = client->query("nodes", {}, milliseconds(300));
  REQUIRE_FALSE(query);
  CHECK(query.error().code == Errc::unavailable);
  CHECK(query.error().subject == endpoint);
  // The controller is known to be unreachable, so the call does not wait for its deadline.
  REQUIRE(
      eventually([&] { return client->query("nodes", {}, milliseconds(50)).error().what.starts_with("no answer"); }));
  const auto ask = client->ask(ask_for("pod", {}), std::chrono::hours(1));
  REQUIRE_FALSE(ask);
  CHECK(ask.error().code == Errc::unavailable);
}

TEST_CASE("a query from a terminal fails at once if the connection is refused") {
  World world;
  const std::string endpoint = deserted_endpoint(world);
  auto client = AskClient::connect(world.context, world.client_options(endpoint, world.shim_key));
  client->give_up_when_refused();
  const auto query = client->query("nodes", {}, std::chrono::hours(1));
  REQUIRE_FALSE(query);
  CHECK(query.error().code == Errc::unavailable);
  CHECK(query.error().what == "no answer from " + endpoint);
  CHECK(query.error().fix.find("check that the controller is running") != std::string::npos);
}

TEST_CASE("a refused client gets denied, and is served once its key is allowed") {
  World world;
  Responder responder(world, [](Server& server, const Incoming& from, const wire::Message& message) {
    server.send(from.route, wire::encode(suggestion(std::get<wire::Ask>(message))));
  });
  auto client = AskClient::connect(world.context, world.client_options(responder.endpoint(), world.stranger_key));
  const auto refused = client->ask(ask_for("pod", {}), kPatience);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::denied);
  AllowList more = world.list();
  more.allow(world.stranger_key.public_key, {Role::shim, "second"});
  world.context.set_allow_list(more);
  CHECK(eventually([&] { return client->ask(ask_for("pod", {}), milliseconds(200)).has_value(); }));
}

TEST_CASE("a pool serves more threads than it has clients, each with its own answer") {
  World world;
  Responder responder(world, [](Server& server, const Incoming& from, const wire::Message& message) {
    server.send(from.route, wire::encode(suggestion(std::get<wire::Ask>(message))));
  });
  AskPool pool(world.context, world.client_options(responder.endpoint(), world.shim_key), 2);
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&pool, &right, t] {
      for (int i = 0; i < 10; ++i) {
        const std::string pod = std::to_string(t) + "/" + std::to_string(i);
        wire::Ask ask = ask_for(pod, {"a"});
        const auto answer = pool.ask(ask, kPatience);
        if (answer && answer->reason == pod && ask.candidates == std::vector<std::string>{"a"}) ++right;
      }
    });
  for (auto& thread : threads) thread.join();
  CHECK(right == 40);

  auto one = pool.lend(milliseconds(0));
  auto two = pool.lend(milliseconds(0));
  REQUIRE(one);
  REQUIRE(two);
  const auto third = pool.lend(milliseconds(1));
  REQUIRE_FALSE(third);
  CHECK(third.error().code == Errc::exhausted);
}
