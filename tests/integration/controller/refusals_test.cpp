#include <doctest/doctest.h>

#include <algorithm>

#include "common/http/client.hpp"
#include "common/parse.hpp"
#include "common/wire/codec.hpp"
#include "tests/integration/controller/world.hpp"
#include "tests/patience.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;
using transport::Channel;
using transport::Link;
using transport::Refused;

namespace {

constexpr std::size_t kKinds = std::variant_size_v<wire::Message>;

template <std::size_t... I>
std::vector<wire::Message> one_of_each(std::index_sequence<I...>) {
  return {wire::Message(std::in_place_index<I>)...};
}

struct Refusals {
  World& world;
  http::Client web{"127.0.0.1", world.controller->endpoints().http_port};
  std::uint64_t value(const std::string& metric) {
    const auto page = web.request("GET", "/metrics", "", wattle::tests::soon());
    REQUIRE(page);
    std::uint64_t found = 0;
    parse::for_each_line(page->body, [&](std::string_view line) {
      if (line.starts_with(metric + " ") || line.starts_with(metric + ",role="))
        found += parse::integer<std::uint64_t>(line.substr(line.rfind(' ') + 1)).value_or(0);
    });
    return found;
  }
  std::uint64_t of(Channel channel, Refused reason) {
    return value("wattle_controller_refused_total{socket=\"" + std::string(to_string(channel)) + "\",reason=\"" +
                 std::string(to_string(reason)) + "\"");
  }
};

// The peer's answer to one message on a new connection.
wire::Message answer_to(World& world, const std::string& endpoint, const KeyPair& key, const wire::Message& message) {
  auto client = transport::Client::connect(world.context, world.to(endpoint, key));
  REQUIRE(client);
  Agents none;
  REQUIRE(run_until(world, none, [&] { return client->send(wire::encode(message)).has_value(); }));
  const auto bytes = client->receive(wattle::tests::soon());
  REQUIRE(bytes);
  auto decoded = wire::decode(*bytes);
  REQUIRE(decoded);
  return std::move(*decoded);
}

// The feed accepts only subscribers.
bool is_refused(World& world, Channel channel, const transport::ClientOptions& options) {
  Agents none;
  const auto until_refused = [&](auto& connected) {
    REQUIRE(connected);
    return run_until(world, none, [&] { return connected->link() == Link::refused; });
  };
  if (channel != Channel::feed) {
    auto client = transport::Client::connect(world.context, options);
    return until_refused(client);
  }
  const std::vector<std::string> topics{std::string(transport::kTopicState)};
  auto subscriber = transport::Subscriber::connect(world.context, options, topics);
  return until_refused(subscriber);
}

}  // namespace

TEST_CASE("forbidden messages of each role on each socket are refused and counted") {
  World world(1);
  world.start();
  Refusals refusals{world};
  const std::vector<std::pair<Role, const KeyPair*>> peers{{Role::agent, &world.agents[0]},
                                                           {Role::shim, &world.shim},
                                                           {Role::reader, &world.reader},
                                                           {Role::operator_, &world.operator_key}};
  const auto messages = one_of_each(std::make_index_sequence<kKinds>());
  std::map<std::pair<Channel, Refused>, std::uint64_t> expected;
  for (const Channel channel : {Channel::telemetry, Channel::ask})
    for (const auto& peer : peers)
      for (const wire::Message& message : messages) {
        const wire::Kind kind = kind_of(message);
        const auto why = refused(channel, kind, {}, peer.first);
        if (!why) continue;  // allowed messages have other tests
        ++expected[{channel, *why}];
        const auto& endpoints = world.controller->endpoints();
        const auto answer =
            answer_to(world, channel == Channel::ask ? endpoints.ask : endpoints.telemetry, *peer.second, message);
        CAPTURE(to_string(kind));
        if (const auto* reply = std::get_if<wire::Reply>(&answer)) {
          CHECK(kind == wire::Kind::query);
          CHECK_FALSE(reply->ok);
          CHECK(reply->error.find("permission denied: query") != std::string::npos);
        } else {
          const auto* refusal = std::get_if<wire::Refusal>(&answer);
          REQUIRE(refusal != nullptr);
          CHECK_FALSE(refusal->fix.empty());
        }
      }
  CHECK(expected.size() == 4);
  for (const auto& [what, count] : expected) CHECK(refusals.of(what.first, what.second) == count);
}

TEST_CASE("an unknown key, a wrong server key and an agent at the feed are refused at the handshake and counted") {
  World world(1);
  world.start();
  Refusals refusals{world};
  const KeyPair stranger = KeyPair::generate();
  const auto& endpoints = world.controller->endpoints();
  for (const Channel channel : transport::kChannels) {
    const std::string& endpoint = channel == Channel::telemetry ? endpoints.telemetry
                                  : channel == Channel::feed    ? endpoints.feed
                                                                : endpoints.ask;
    CAPTURE(to_string(channel));
    CHECK(is_refused(world, channel, world.to(endpoint, stranger)));
    CHECK(refusals.of(channel, Refused::unknown_key) == 1);
    auto options = world.to(endpoint, world.reader);
    options.server_key = stranger.public_key;
    CHECK(is_refused(world, channel, options));
    Agents none;
    CHECK(run_until(world, none, [&] { return refusals.of(channel, Refused::wrong_server_key) >= 1; }));
  }
  CHECK(is_refused(world, Channel::feed, world.to(endpoints.feed, world.agents[0])));
  CHECK(refusals.of(Channel::feed, Refused::role) == 1);
}

TEST_CASE("a revoked key loses its session, asks and feed, and no other peer is affected") {
  World world(2);
  world.start();
  Refusals refusals{world};
  Agents agents;
  for (std::size_t i = 0; i < 2; ++i) agents.push_back(std::make_unique<ScriptedAgent>(world, i));
  REQUIRE(run_until(world, agents, [&] {
    return std::all_of(agents.begin(), agents.end(), [](const auto& agent) { return agent->status().acked_seq > 2; });
  }));
  auto reader = world.ask_client(world.reader);
  REQUIRE(reader.query("status", {}, wattle::tests::soon()));
  const std::vector<std::string> topics{std::string(transport::kTopicState)};
  const std::string& feed = world.controller->endpoints().feed;
  auto theirs = transport::Subscriber::connect(world.context, world.to(feed, world.reader), topics);
  auto ours = transport::Subscriber::connect(world.context, world.to(feed, world.shim), topics);
  REQUIRE(theirs);
  REQUIRE(ours);
  bool both[] = {false, false};
  REQUIRE(run_until(world, agents, [&] {
    both[0] = both[0] || theirs->receive();
    both[1] = both[1] || ours->receive();
    return both[0] && both[1];
  }));

  auto list = transport::AllowList::load(world.config.allow_file);
  REQUIRE(list);
  transport::AllowList fewer;
  for (const auto& [key, identity] : list->entries())
    if (key != world.agents[0].public_key && key != world.reader.public_key) fewer.allow(key, identity);
  REQUIRE(write_file_atomically(world.config.allow_file, fewer.text()));

  // The agent and the subscriber stay refused; the other subscriber keeps its connection.
  bool reported = false;
  REQUIRE(run_until(world, agents, [&] {
    while (theirs->receive()) {
    }
    while (ours->receive()) {
    }
    reported = reported || agents[0]->status().problem.find(world.agents[0].public_key) != std::string::npos;
    return reported && !agents[0]->status().welcomed && theirs->link() == Link::refused;
  }));
  CHECK(refusals.value("wattle_controller_keys_revoked_total") == 2);
  CHECK(ours->times_up() == 1);
  CHECK(refusals.value("wattle_controller_sessions") == 1);
  const auto asked = reader.query("status", {}, wattle::tests::soon());
  REQUIRE_FALSE(asked);
  CHECK(asked.error().code == Errc::denied);

  // The remaining peer queries the feed's position and continues from there.
  auto shim = world.ask_client(world.shim);
  const auto snapshot = shim.snapshot(wattle::tests::late());
  REQUIRE(snapshot);
  const std::uint64_t acked = agents[1]->status().acked_seq;
  std::uint64_t seq = 0;
  REQUIRE(run_until(world, agents, [&] {
    CHECK_FALSE(theirs->receive());
    while (const auto published = ours->receive()) {
      const auto message = wire::decode(published->bytes);
      REQUIRE(message);
      const auto& change = std::get<wire::StateChange>(*message);
      CHECK(change.epoch == snapshot->epoch);
      seq = change.seq;
    }
    return seq > snapshot->seq && agents[1]->status().acked_seq > acked;
  }));
  CHECK(agents[1]->status().reconnects == 0);
  // A new connection is refused too.
  CHECK(is_refused(world, Channel::ask, world.to(world.controller->endpoints().ask, world.reader)));
}

TEST_CASE("with a token the controller's pages require it and count requests without it") {
  World world(1);
  REQUIRE(write_file_atomically(world.dir / "token", "correct-horse-battery\n", 0400));
  world.config.http_access.token_file = world.dir / "token";
  world.start();
  http::Client without("127.0.0.1", world.controller->endpoints().http_port);
  for (const char* page : {"/metrics", "/api/v1/nodes", "/nothing"})
    CHECK(without.request("GET", page, "", wattle::tests::soon())->status == 401);
  for (const char* page : {"/livez", "/readyz"})
    CHECK(without.request("GET", page, "", wattle::tests::soon())->status == 200);
  http::Client with("127.0.0.1", world.controller->endpoints().http_port);
  with.bearer("correct-horse-battery");
  const auto page = with.request("GET", "/metrics", "", wattle::tests::soon());
  REQUIRE(page);
  CHECK(page->status == 200);
  CHECK(page->body.find("wattle_controller_refused_total{socket=\"http\",reason=\"token\"} 3\n") != std::string::npos);
}

TEST_CASE("doctor and metrics report an unreadable revocation, and it applies once it can be read") {
  World world(1);
  world.start();
  Refusals refusals{world};
  Agents none;
  auto reader = world.ask_client(world.reader);
  REQUIRE(reader.query("status", {}, wattle::tests::soon()));
  const auto list = transport::AllowList::load(world.config.allow_file);
  REQUIRE(list);
  transport::AllowList fewer;
  for (const auto& [key, identity] : list->entries())
    if (key != world.reader.public_key) fewer.allow(key, identity);
  // A directory replaces the file while the list is written.
  std::filesystem::remove(world.config.allow_file);
  std::filesystem::create_directory(world.config.allow_file);
  auto ops = world.ask_client(world.operator_key);
  REQUIRE(run_until(world, none, [&] {
    const auto reported = ops.query("doctor", {}, wattle::tests::soon());
    return reported && reported->find("allow list") != std::string::npos;
  }));
  CHECK(refusals.value("wattle_controller_allow_list_ok") == 0);
  REQUIRE(reader.query("status", {}, wattle::tests::soon()));
  std::filesystem::remove(world.config.allow_file);
  REQUIRE(write_file_atomically(world.config.allow_file, fewer.text()));
  REQUIRE(run_until(world, none, [&] { return !reader.query("status", {}, wattle::tests::soon()); }));
  CHECK(refusals.value("wattle_controller_allow_list_ok") == 1);
  CHECK(refusals.value("wattle_controller_keys_revoked_total") == 1);
}
