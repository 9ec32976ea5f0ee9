// Guests: keys that read for minutes without a place on the allow list.
#include <doctest/doctest.h>

#include "common/transport/sockets.hpp"
#include "common/wire/codec.hpp"
#include "world.hpp"

using namespace wattle;
using namespace wattle::transport;
using namespace wattle::transport::testing;

TEST_CASE("a guest is a reader until its admission ends, and is then refused") {
  World world;
  auto server = Server::bind(world.context, world.server_options());
  REQUIRE(server);
  REQUIRE(world.context.admit_guest(world.stranger_key.public_key, mono_from_ns(100)));
  auto guest = Client::connect(world.context, world.client_options(server->endpoint(), world.stranger_key));
  REQUIRE(testing::send(*guest, "hello"));
  const auto incoming = testing::receive(*server);
  REQUIRE(incoming);
  CHECK(incoming->identity.user_id() == "reader/guest");
  world.context.end_guests(mono_from_ns(99));
  REQUIRE(testing::send(*guest, "still me"));
  REQUIRE(testing::receive(*server));

  // A second login extends the admission.
  REQUIRE(world.context.admit_guest(world.stranger_key.public_key, mono_from_ns(200)));
  world.context.end_guests(mono_from_ns(100));
  REQUIRE(testing::send(*guest, "still me"));
  REQUIRE(testing::receive(*server));

  world.context.end_guests(mono_from_ns(200));
  REQUIRE(testing::send(*guest, "too late"));
  std::optional<std::string> reported;
  REQUIRE(eventually([&] {
    CHECK_FALSE(server->receive());
    reported = guest->receive(std::chrono::milliseconds(10));
    return reported.has_value();
  }));
  const auto refusal = wire::decode(*reported);
  REQUIRE(refusal);
  CHECK(std::get<wire::Refusal>(*refusal).fix.find("run the command again") != std::string::npos);
  // Soon after the refusal the connection ends, and a new one is refused.
  REQUIRE(eventually([&] {
    CHECK_FALSE(server->receive());
    guest->wait_readable(std::chrono::milliseconds(10));
    return guest->link() == Link::refused;
  }));
}

TEST_CASE("a guest's subscription ends with its admission") {
  World world;
  auto publisher = Publisher::bind(world.context, world.server_options());
  REQUIRE(publisher);
  REQUIRE(world.context.admit_guest(world.stranger_key.public_key, mono_from_ns(100)));
  const std::vector<std::string> topics{std::string(kTopicBoard)};
  auto guest =
      Subscriber::connect(world.context, world.client_options(publisher->endpoint(), world.stranger_key), topics);
  REQUIRE(guest);
  REQUIRE(eventually([&] {
    publisher->drain();
    publisher->publish(kTopicBoard, "before");
    return guest->receive(std::chrono::milliseconds(10)).has_value();
  }));
  world.context.end_guests(mono_from_ns(100));
  CHECK(eventually([&] {
    publisher->drain();
    static_cast<void>(guest->receive(std::chrono::milliseconds(10)));
    return guest->link() == Link::refused;
  }));
}

TEST_CASE("a key on the allow list keeps its role, and the number of guests is bounded") {
  World world;
  const auto conflict = world.context.admit_guest(world.agent_key.public_key, mono_from_ns(100));
  REQUIRE_FALSE(conflict);
  CHECK(conflict.error().code == Errc::conflict);
  const auto name = [](int i) { return std::string(30, 'k') + std::to_string(1'000'000'000 + i); };
  int admitted = 0;
  Status last;
  while (admitted < 100'000 && (last = world.context.admit_guest(name(admitted), mono_from_ns(100)))) ++admitted;
  REQUIRE_FALSE(last);
  CHECK(last.error().code == Errc::exhausted);
  CHECK(admitted == 2048);
  CHECK(world.context.admit_guest(name(0), mono_from_ns(200)));  // a renewal needs no room
  world.context.end_guests(mono_from_ns(100));
  CHECK(world.context.admit_guest(name(admitted), mono_from_ns(200)));
}
