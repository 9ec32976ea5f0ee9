#include "agent/collect/pcm.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <atomic>
#include <fstream>
#include <sstream>

#include "common/http/server.hpp"
#include "tests/places.hpp"

using namespace wattle;
using namespace wattle::agent;
using namespace std::chrono_literals;

namespace {
std::string answer_text() {
  std::ifstream file(tests::source_dir() + "/tests/fixtures/agent/pcm/persecond-two-sockets.json");
  std::stringstream text;
  text << file.rdbuf();
  REQUIRE(text.str().size() > 1000);
  return text.str();
}
}  // namespace

TEST_CASE("each socket's energy, DRAM bytes, package C-states and frequency are parsed, and nan is absent") {
  const auto answer = parse_pcm(answer_text());
  REQUIRE(answer);
  CHECK(answer->interval_us == 1000127);
  REQUIRE(answer->sockets.size() == 2);
  const auto& one = answer->sockets[1];
  CHECK(one.id == 1U);
  CHECK(*one.package_j == doctest::Approx(61.25));
  CHECK(*one.dram_j == doctest::Approx(7.5));
  CHECK(*one.dram_read_bytes == 64000000);
  CHECK(*one.dram_write_bytes == 32000000);
  CHECK(*one.package_c_state_ratios[0] == doctest::Approx(0.25));
  CHECK(*one.package_c_state_ratios[6] == doctest::Approx(0.5));
  CHECK_FALSE(one.package_c_state_ratios[3].has_value());
  CHECK(one.threads == 2);
  // 2 threads at a reference of 2.1 GHz, half again as fast while awake
  CHECK(*mean_frequency_hz(one, answer->interval_us) == doctest::Approx(3.15e9).epsilon(0.001));
}

TEST_CASE("the server's other documents, truncated ones and garbage are not answers") {
  const std::string text = answer_text();
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, text.size() / 2, text.rfind('}')})
    CHECK_FALSE(parse_pcm(std::string_view(text).substr(0, size)).has_value());
  for (const char* garbage : {"[]", "{}", "<html>", "{\"Interval us\" : 5}", "{\"Sockets\":[{}]}",
                              "{\"Interval us\":5,\"Sockets\":[[[[[[[[[[[[[["})
    CHECK_MESSAGE(!parse_pcm(garbage).has_value(), garbage);
  const std::string least = "{\"Interval us\":5,\"Sockets\":[{\"Socket ID\":0}]}";
  CHECK(parse_pcm(least + "\r\n").has_value());
  CHECK_FALSE(parse_pcm(least + least).has_value());
}

TEST_CASE("a reservoir gives each tick its part of the count, without loss or gain") {
  CHECK(rc::check([] {
    EnergyReservoir reservoir;
    std::uint64_t in = 0, out = 0;
    for (int step = 0; step < 50; ++step) {
      if (*rc::gen::arbitrary<bool>()) {
        const auto energy = *rc::gen::inRange<std::uint64_t>(0, 1'000'000'000'000);
        reservoir.put(energy, Duration(*rc::gen::inRange<std::int64_t>(1, 2'000'000'000)));
        in += energy;
      }
      out += reservoir.take(Duration(*rc::gen::inRange<std::int64_t>(0, 2'000'000'000))).value_or(0);
      RC_ASSERT(out + reservoir.energy_uj() == in);
    }
    out += reservoir.take(std::chrono::hours(1)).value_or(0);
    RC_ASSERT(out == in);
  }));
  EnergyReservoir reservoir;
  CHECK_FALSE(reservoir.take(1s).has_value());
  reservoir.put(100, 2s);
  CHECK(reservoir.take(1s) == 50U);
  CHECK(reservoir.take(1s) == 50U);
  CHECK_FALSE(reservoir.take(1s).has_value());
}

TEST_CASE("each second of the server is counted once, and a missed one is reported") {
  PcmWindows windows;
  MonoTime now{};
  CHECK(windows.see("a", 1s, now) == PcmWindows::Seen::fresh);
  CHECK(windows.see("a", 1s, now + 250ms) == PcmWindows::Seen::again);
  CHECK(windows.see("b", 1s, now + 980ms) == PcmWindows::Seen::fresh);
  CHECK(windows.see("c", 1s, now + 2900ms) == PcmWindows::Seen::fresh);  // may have arrived late in its second
  CHECK(windows.see("e", 1s, now + 4800ms) == PcmWindows::Seen::after_gap);
  CHECK(windows.see("f", 1s, now + 5800ms) == PcmWindows::Seen::fresh);
}

TEST_CASE("at any phase of the server's seconds a client counts each once for an hour and sees no gap") {
  CHECK(rc::check([] {
    const Duration phase = std::chrono::milliseconds(*rc::gen::inRange(0, 1000));
    PcmWindows windows;
    MonoTime now{};
    std::uint64_t fresh = 0;
    while (now.time_since_epoch() < 1h) {
      const auto second = (now.time_since_epoch() + phase) / 1s;
      const auto seen = windows.see(std::to_string(second), 1s, now);
      RC_ASSERT(seen != PcmWindows::Seen::after_gap);
      if (seen == PcmWindows::Seen::fresh) ++fresh;
      now += seen == PcmWindows::Seen::again ? 250ms : 980ms;
    }
    RC_ASSERT(fresh >= 3599U);
    RC_ASSERT(fresh <= 3601U);
  }));
}

TEST_CASE("an endpoint is http, a host and a port") {
  CHECK(parse_pcm_endpoint("http://127.0.0.1:9738")->port == 9738);
  CHECK(parse_pcm_endpoint("http://[::1]:9738/")->host == "::1");
  for (const char* garbage : {"", "127.0.0.1:9738", "https://a:1", "http://a", "http://a:0", "http://:1",
                              "http://a:1/b", "http://a:70000", "http://u@a:1"})
    CHECK_MESSAGE(!parse_pcm_endpoint(garbage).has_value(), garbage);
}

TEST_CASE("a server is queried for JSON and reported by socket, and a missing one is an error") {
  const Log log("test", LogLevel::off, LogFormat::text);
  std::atomic<bool> asked{false};
  auto server = http::Server::start({},
                                    {{"GET /persecond",
                                      [&](const http::Request&) {
                                        asked = true;
                                        return http::Response{200, "application/json", answer_text()};
                                      }}},
                                    log);
  REQUIRE(server);
  ManualClock clock;
  EnergyReadings readings;
  std::vector<SocketValues> sockets;
  CollectErrors errors;
  {
    const auto pcm = Pcm::start({"127.0.0.1", server->port()});
    CHECK(asked);
    CHECK_FALSE(pcm->first_error().has_value());
    CHECK(pcm->socket_count() == 2);
    pcm->read(readings, sockets, clock, errors);
    CHECK(errors.empty());
    REQUIRE(readings.size() == 4);
    CHECK(readings[0].label == "package-0");
    CHECK_FALSE(readings[0].energy_uj.has_value());  // counted before the first interval
    CHECK(readings[3].label == "dram-1");
    REQUIRE(sockets.size() == 2);
    CHECK(sockets[1].socket == 1);
    CHECK(*sockets[1].dram_read_bytes_per_s == doctest::Approx(64e6 / 1.000127));
    CHECK(sockets[1].package_c_state_ratios.size() == 3);  // C3 was nan
  }
  const std::uint16_t port = server->port();
  server = http::Server::start({}, {}, log);
  const auto none = Pcm::start({"127.0.0.1", port});
  REQUIRE(none->first_error().has_value());
  none->read(readings, sockets, clock, errors);
  REQUIRE(errors.size() == 1);
  CHECK(errors[0].second.subject.find("/persecond") != std::string::npos);
}
