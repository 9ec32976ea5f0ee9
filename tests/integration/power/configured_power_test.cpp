#include "controller/power/configured_power.hpp"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>

#include "common/dir.hpp"
#include "common/json/value.hpp"
#include "controller/power/magic_packet.hpp"
#include "tests/integration/power/rigs.hpp"
#include "tests/patience.hpp"

using namespace wattle::controller::power;
using namespace wattle::controller::power::test;
using wattle::Errc;

namespace {

struct ExecFixture {
  wattle::test::TempDir dir;
  // A configuration with one program that runs these shell lines.
  std::unique_ptr<NodePower> with(const std::string& script, const std::string& more = "") const {
    return power_of(
        item_of("exec: {command: [" + write_file(dir, "program", "#!/bin/sh\n" + script, 0755) + "]}" + more));
  }
};

void check_magic_packet(const wattle::Fd& card) {
  pollfd readable{card.get(), POLLIN, 0};
  REQUIRE(::poll(&readable, 1, static_cast<int>(wattle::tests::soon().count())) == 1);
  MagicPacket packet{};
  CHECK(::recv(card.get(), packet.data(), packet.size(), MSG_TRUNC) == static_cast<ssize_t>(packet.size()));
  CHECK(packet == magic_packet(*parse_mac("52:54:00:12:34:56")));
}

}  // namespace

TEST_CASE_FIXTURE(ExecFixture, "an exec program reads one request as JSON") {
  const auto power = with("cat > " + dir.file("request"));
  REQUIRE(power->sleep({"node", {{"rack", "r1"}}}, Depth::suspend, {7, std::chrono::milliseconds(20'000)}));
  const auto request = wattle::SortedJson::parse(*wattle::read_file(dir.file("request")));
  CHECK(request == wattle::SortedJson::parse(R"({"version": 1, "request": "sleep", "node": "node",
    "labels": {"rack": "r1"}, "time_limit_s": 20, "operation": 7, "depth": "suspend"})"));
  REQUIRE(power->wake({"node"}, {8, std::chrono::milliseconds(20'000)}));
  const auto wake = wattle::SortedJson::parse(*wattle::read_file(dir.file("request")));
  CHECK(wake["request"].string() == "wake");
  CHECK(wake["operation"].get<int>() == 8);
  CHECK_FALSE(wake.contains("depth"));
}

TEST_CASE_FIXTURE(ExecFixture, "an exec program's exit status gives the cause, and the error keeps its output") {
  for (const auto& [status, code] :
       {std::pair{64, Errc::unsupported}, std::pair{69, Errc::unavailable}, std::pair{75, Errc::conflict},
        std::pair{77, Errc::denied}, std::pair{1, Errc::io}}) {
    const auto power = with("echo 'an inhibitor is held' >&2; exit " + std::to_string(status));
    const auto slept = power->sleep({"node"}, Depth::off, {1, wattle::tests::soon()});
    REQUIRE_FALSE(slept);
    CHECK(slept.error().code == code);
    CHECK(slept.error().subject == dir.file("program"));
    CHECK(slept.error().what == "sleep of node ended with status " + std::to_string(status) + ": an inhibitor is held");
  }
}

TEST_CASE_FIXTURE(ExecFixture, "malformed output of an exec program is an error") {
  const auto seen = with("echo running")->observe({"node"}, wattle::tests::soon());
  REQUIRE_FALSE(seen);
  CHECK(seen.error().code == Errc::malformed);
  CHECK(seen.error().what.find("running") != std::string::npos);
}

TEST_CASE_FIXTURE(ExecFixture, "the configuration's figures override the driver's") {
  const std::string script = R"(echo '{"depths": ["off"], "wake_time_s": 5, "asleep_power_w": 1}')";
  const auto own = with(script)->probe({"node"}, wattle::tests::soon());
  REQUIRE(own);
  CHECK(own->wake_s == 5.0);
  const auto set = with(script, ", wake_time: 2m, asleep_power_w: 9")->probe({"node"}, wattle::tests::soon());
  REQUIRE(set);
  CHECK(set->wake_s == 120.0);
  CHECK(set->asleep_w == 9.0);
}

TEST_CASE_FIXTURE(ExecFixture, "a node without an observing driver is unknown, and its probe says so") {
  const auto power = with(R"(echo '{"depths": ["off"]}')", ", observe: none");
  CHECK_FALSE(power->probe({"node"}, wattle::tests::soon())->can_observe);
  CHECK(power->observe({"node"}, wattle::tests::soon())->state == PowerState::unknown);
}

TEST_CASE_FIXTURE(ExecFixture, "a magic packet reaches a node in a network that has only IPv6") {
  const wattle::Fd card(::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_loopback;
  socklen_t length = sizeof address;
  if (::bind(card.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0) return;  // no IPv6 here
  REQUIRE(::getsockname(card.get(), reinterpret_cast<sockaddr*>(&address), &length) == 0);
  const auto power =
      with("echo off > " + dir.file("machine"),
           ", wol: {mac: '52:54:00:12:34:56', broadcast: '::1', port: " + std::to_string(ntohs(address.sin6_port)) +
               "}, sleep: exec, wake: wol, observe: none");
  REQUIRE(power->wake({"node"}, {2, wattle::tests::soon()}));
  check_magic_packet(card);
}

TEST_CASE_FIXTURE(ExecFixture, "a node can sleep by a program and wake by a magic packet") {
  const wattle::Fd card(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  REQUIRE(::bind(card.get(), reinterpret_cast<const sockaddr*>(&address), length) == 0);
  REQUIRE(::getsockname(card.get(), reinterpret_cast<sockaddr*>(&address), &length) == 0);

  const auto power =
      with(R"(echo '{"depths": ["suspend"], "wake_time_s": 5}'; echo off > )" + dir.file("machine"),
           ", wol: {mac: '52:54:00:12:34:56', broadcast: 127.0.0.1, port: " + std::to_string(ntohs(address.sin_port)) +
               "}, sleep: exec, wake: wol, observe: none");
  const auto able = power->probe({"node"}, wattle::tests::soon());
  REQUIRE(able);
  CHECK(able->depths == std::vector<Depth>{Depth::suspend});
  CHECK(able->can_wake);
  CHECK_FALSE(able->wake_s);  // the program's figure does not apply to a magic packet
  CHECK(power->sleep({"node"}, Depth::suspend, {1, wattle::tests::soon()}));
  REQUIRE(power->wake({"node"}, {2, wattle::tests::soon()}));
  check_magic_packet(card);
}

TEST_CASE_FIXTURE(ExecFixture, "the first item that matches a node decides") {
  const auto program = [&](const std::string& name, const std::string& state) {
    return write_file(dir, name, "#!/bin/sh\necho '{\"state\": \"" + state + "\"}'\n", 0755);
  };
  const auto power = power_of("nodes:\n  - {node: a-1, exec: {command: [" + program("one", "on") +
                              "]}}\n  - {labels: {rack: r1}, exec: {command: [" + program("two", "off") +
                              "]}}\n  - {node: 'a-*', exec: {command: [" + program("three", "unknown") + "]}}\n");
  CHECK(power->observe({"a-1", {{"rack", "r1"}}}, wattle::tests::soon())->state == PowerState::on);
  CHECK(power->observe({"a-2", {{"rack", "r1"}}}, wattle::tests::soon())->state == PowerState::off);
  CHECK(power->observe({"a-2"}, wattle::tests::soon())->state == PowerState::unknown);
  CHECK(power->observe({"b"}, wattle::tests::soon()).error().code == Errc::not_found);
}
