// The built agent as a process: its command line, and its session with a scripted controller.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "child.hpp"
#include "common/http/client.hpp"
#include "common/json/value.hpp"
#include "common/transport/keys.hpp"
#include "common/transport/sockets.hpp"
#include "common/wire/codec.hpp"
#include "tests/patience.hpp"
#include "tests/places.hpp"
#include "tests/unit/http/certificates.hpp"

using namespace wattle;
using agent::test::agent_binary;
using agent::test::Child;

namespace {
struct TempDir {
  TempDir() {
    std::string pattern = (std::filesystem::temp_directory_path() / "wattle-agent-XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    path = pattern;
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::string path;
};

struct Ran {
  int status = 0;
  std::string text;
};
Ran run(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), agent_binary());
  Child child(std::move(arguments));
  std::string text = child.rest();
  return {child.wait(), std::move(text)};
}
}  // namespace

TEST_CASE("one sample of this machine has its counters") {
  const auto ran = run({"sample", "--count", "1", "-o", "json"});
  CHECK(ran.status == 0);
  const auto sample = wattle::SortedJson::parse(ran.text);
  CHECK(sample["seq"] == 1);
  CHECK(sample["raw"]["cpu_busy_us"].get<std::uint64_t>() > 0);
  CHECK(sample["node"]["memory_total_bytes"].get<std::uint64_t>() > 0);
}

TEST_CASE("a captured tree with powercap gives RAPL watts and raw counters") {
  const TempDir dir;
  std::filesystem::copy(tests::source_dir() + "/tests/fixtures/agent/two-socket-server", dir.path,
                        std::filesystem::copy_options::recursive);
  Child child({agent_binary(), "sample", "--count", "600", "--interval", "100ms", "--root", dir.path, "-o", "json"});
  const auto counter = [](const wattle::SortedJson& sample) {
    for (const auto& zone : sample["raw"]["rapl"])
      if (zone["name"] == "package-0") return zone["energy_uj"].get<std::uint64_t>();
    return std::uint64_t{0};
  };
  auto line = child.line();
  REQUIRE(line);
  auto sample = wattle::SortedJson::parse(*line);
  CHECK(sample["node"]["energy_source"] == "rapl");
  CHECK_FALSE(sample["node"].contains("power_w"));  // power needs two readings
  const std::uint64_t before_uj = counter(sample);
  REQUIRE(before_uj > 0);

  const std::string file = dir.path + "/sys/class/powercap/intel-rapl:0/energy_uj";
  std::fstream(file, std::ios::in | std::ios::out) << before_uj + 5'000'000 << "\n";  // in place, as the kernel does
  std::uint64_t energy_uj = 0;
  do {
    line = child.line();
    REQUIRE(line);
    sample = wattle::SortedJson::parse(*line);
    energy_uj = sample["node"]["energy_uj"].get<std::uint64_t>();
  } while (energy_uj == 0);
  CHECK(energy_uj == 5'000'000);  // psys does not advance, so it is ignored
  CHECK(sample["node"]["energy_source"] == "rapl");
  const double expected_w = 5e9 / sample["interval_ns"].get<double>();
  CHECK(sample["node"]["power_w"].get<double>() == doctest::Approx(expected_w));
  CHECK(counter(sample) == before_uj + 5'000'000);
}

TEST_CASE("a captured server is accepted or rejected by its own meters, in a report without names") {
  const TempDir right, wrong;  // in `wrong`, the platform draws half of its packages' power
  for (const TempDir* dir : {&right, &wrong})
    std::filesystem::copy(tests::source_dir() + "/tests/fixtures/agent/two-socket-server", dir->path,
                          std::filesystem::copy_options::recursive);
  std::atomic<bool> over{false};
  std::thread meters([&] {
    for (std::uint64_t step = 1; !over; ++step) {
      const auto put = [step](const TempDir& dir, const char* zone, std::uint64_t from_uj, std::uint64_t step_uj) {
        std::fstream(dir.path + "/sys/class/powercap/" + zone + "/energy_uj", std::ios::in | std::ios::out)
            << from_uj + step * step_uj << "\n";
      };
      for (const TempDir* dir : {&right, &wrong}) {
        put(*dir, "intel-rapl:0", 1'000'000'000, 1'000'000);
        put(*dir, "intel-rapl:2", 2'000'000'000, 1'000'000);
        put(*dir, "intel-rapl:1", 5'000'000'000, dir == &right ? 4'000'000 : 1'000'000);
      }
      tests::pace(std::chrono::milliseconds(20));
    }
  });
  const auto accept = [](const TempDir& dir) {
    return std::vector<std::string>{agent_binary(), "accept", "--phase",  "2s",
                                    "--root",       dir.path, "--report", dir.path + "/report.json"};
  };
  Child good(accept(right)), bad(accept(wrong));
  const std::string said = good.rest(), complained = bad.rest();
  const int good_status = good.wait(), bad_status = bad.wait();
  over = true;
  meters.join();

  CAPTURE(said);
  CHECK(good_status == 0);
  CHECK(said.find("good: rapl platform is more than its packages") != std::string::npos);
  CHECK(said.find("good: shares, idle and unattributed energy add up") != std::string::npos);
  CHECK(said.find("not seen: two loads together use as much energy as separately: captured trees run without loads") !=
        std::string::npos);
  std::ifstream file(right.path + "/report.json");
  const auto report = wattle::SortedJson::parse(std::string(std::istreambuf_iterator<char>(file), {}));
  CHECK(report["accepted"] == true);
  CHECK(report["phases"].size() == 5);
  for (const auto& phase : report["phases"]) CHECK(phase["power_w"].get<double>() > 0);
  std::array<char, 256> name{};
  REQUIRE(::gethostname(name.data(), name.size() - 1) == 0);
  for (const std::string& text : {said, report.dump()}) {
    CHECK(text.find(right.path) == std::string::npos);
    CHECK(text.find("/" + std::string(name.data())) == std::string::npos);
    CHECK(text.find("\"" + std::string(name.data())) == std::string::npos);
  }
  CAPTURE(complained);
  CHECK(bad_status == 1);
  CHECK(complained.find("BAD: rapl platform is more than its packages") != std::string::npos);
}

TEST_CASE("wrong usage, an invalid interval and a missing tree are refused with the reason") {
  CHECK(run({"sample", "--count", "0"}).status == 2);
  CHECK(run({"frobnicate"}).status == 2);
  const auto interval = run({"sample", "--interval", "1ms"});
  CHECK(interval.status == 2);
  CHECK(interval.text.find("100ms to 60s") != std::string::npos);
  const auto tree = run({"sample", "--root", "/nowhere-at-all"});
  CHECK(tree.status == 1);
  CHECK(tree.text.find("/nowhere-at-all/proc") != std::string::npos);
}

TEST_CASE("--check-config checks a configuration without starting the agent") {
  const TempDir dir;
  const std::string good = dir.path + "/good.yaml", bad = dir.path + "/bad.yaml";
  std::ofstream(good) << "node: n1\n";
  std::ofstream(bad) << "nodes: n1\ntick: 1h\n";
  CHECK(run({"run", "--config", good, "--check-config"}).status == 0);
  const auto refused = run({"run", "--config", bad, "--check-config"});
  CHECK(refused.status == 2);
  CHECK(refused.text.find("nodes: unknown key") != std::string::npos);
  CHECK(refused.text.find("tick") != std::string::npos);
  const auto idle = run({"run", "--config", good});
  CHECK(idle.status == 1);
  CHECK(idle.text.find("controller.endpoint") != std::string::npos);
}

TEST_CASE("a running agent greets, sends samples in order, repeats no acknowledged one, and stops on request") {
  const TempDir dir;
  const auto server_key = transport::KeyPair::generate(), agent_key = transport::KeyPair::generate();
  REQUIRE(agent_key.save(dir.path + "/agent.key").has_value());
  std::ofstream(dir.path + "/controller.pub") << server_key.public_key << "\n";
  const Log log = Log::silent();
  transport::Context context;
  transport::AllowList allow;
  allow.allow(agent_key.public_key, {transport::Role::agent, "n1"});
  context.serve(std::move(allow), log);
  transport::ServerOptions options;
  options.endpoint = "tcp://127.0.0.1:0";
  options.key = server_key;
  auto server = transport::Server::bind(context, options);
  REQUIRE(server.has_value());
  std::ofstream(dir.path + "/agent.yaml")
      << "node: n1\ntick: 100ms\nstate_dir: " << dir.path << "/state\ncontroller:\n  endpoint: " << server->endpoint()
      << "\n  server_key: " << dir.path << "/controller.pub\n  key: " << dir.path << "/agent.key\n";
  Child agent({agent_binary(), "run", "--config", dir.path + "/agent.yaml"});

  const SystemClock clock;
  const MonoTime patience = clock.mono() + wattle::tests::late();
  std::optional<wire::Hello> hello;
  std::uint64_t last_seq = 0, incarnation = 0;
  while (clock.mono() < patience && last_seq < 5) {
    const transport::Socket* sockets[] = {&*server};
    transport::poll(sockets, {}, std::chrono::milliseconds(100));
    while (auto incoming = server->receive()) {
      CHECK(incoming->identity.name == "n1");
      const auto message = wire::decode(incoming->bytes);
      REQUIRE(message.has_value());
      const auto answer = [&](const wire::Message& m) { server->send(incoming->route, wire::encode(m)); };
      if (const auto* greeting = std::get_if<wire::Hello>(&*message)) {
        hello = *greeting;
        wire::Welcome welcome;
        welcome.max_batch = 2;
        welcome.max_message_bytes = 1 << 20;
        welcome.credit = 4;
        answer(welcome);
      } else if (const auto* samples = std::get_if<wire::Samples>(&*message)) {
        REQUIRE(hello.has_value());
        CHECK(samples->records.size() <= 2);
        for (const auto& record : samples->records) {
          CHECK(record.seq == last_seq + 1);
          last_seq = record.seq;
          incarnation = record.incarnation;
        }
        answer(wire::Ack{incarnation, last_seq, 4});
      } else if (const auto* ping = std::get_if<wire::Ping>(&*message)) {
        answer(wire::Pong{ping->nonce, ping->mono_ns, to_ns(clock.mono()), to_ns(clock.wall())});
      }
    }
  }
  CHECK(last_seq >= 5);
  REQUIRE(hello.has_value());
  CHECK(hello->node == "n1");
  CHECK(hello->incarnation == incarnation);
  CHECK(hello->cpu_cores > 0);
  CHECK_FALSE(hello->findings.empty());
  CHECK(agent.end(SIGTERM) == 0);
}

TEST_CASE("over TLS the page requires its token, and plain HTTP gets no answer") {
  using namespace http::test;
  const TempDir dir;
  const Signed authority = make_certificate("authority", nullptr);
  const Signed own = make_certificate("localhost", &authority);
  write_certificate(own, dir.path + "/page.pem");
  write_key(own, dir.path + "/page.key");
  std::ofstream(dir.path + "/token") << "a-token-of-enough-letters\n";
  REQUIRE(::chmod((dir.path + "/token").c_str(), 0400) == 0);
  std::ofstream(dir.path + "/agent.yaml")
      << "node: n1\ntick: 100ms\nstate_dir: " << dir.path << "/state\nhttp: {port: 0, token_file: " << dir.path
      << "/token, tls: {certificate: " << dir.path << "/page.pem, key: " << dir.path << "/page.key}}\n";
  Child agent({agent_binary(), "run", "--config", dir.path + "/agent.yaml"});
  std::uint16_t port = 0;
  while (port == 0) {
    const auto line = agent.line();
    REQUIRE(line.has_value());
    port = wattle::SortedJson::parse(*line).value("http_port", std::uint16_t{0});
  }
  const auto get = [&](const std::string& path, const std::string& more) {
    return ask_over_tls(port, "GET " + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + more + "\r\n",
                        authority)
        .text;
  };
  CHECK(get("/metrics", "").starts_with("HTTP/1.1 401 "));
  const std::string page = get("/metrics", "Authorization: Bearer a-token-of-enough-letters\r\n");
  CHECK(page.starts_with("HTTP/1.1 200 "));
  CHECK(page.find("wattle_node_cpu_seconds_total ") != std::string::npos);
  for (const char* open : {"/livez", "/echo"}) CHECK(get(open, "").starts_with("HTTP/1.1 200 "));
  CHECK_FALSE(http::Client("127.0.0.1", port).request("GET", "/livez", "", wattle::tests::soon()));
  CHECK(agent.end(SIGTERM) == 0);
}

TEST_CASE("an agent without a controller serves its metrics and its echo on two ports, and stops on request") {
  const TempDir dir;
  std::ofstream(dir.path + "/agent.yaml") << "node: n1\ntick: 100ms\nstate_dir: " << dir.path
                                          << "/state\nhttp: {port: 0}\necho: {address: 127.0.0.1, port: 0}\n";
  Child agent({agent_binary(), "run", "--config", dir.path + "/agent.yaml"});
  std::uint16_t port = 0, echo_port = 0;
  while (port == 0) {
    const auto line = agent.line();
    REQUIRE(line.has_value());
    const auto event = wattle::SortedJson::parse(*line);
    port = event.value("http_port", std::uint16_t{0});
    echo_port = event.value("echo_port", std::uint16_t{0});
  }
  http::Client client("127.0.0.1", port);
  const auto page = client.request("GET", "/metrics", "", wattle::tests::soon());
  REQUIRE(page.has_value());
  CHECK(page->status == 200);
  CHECK(page->body.find("wattle_node_cpu_seconds_total ") != std::string::npos);
  const auto live = client.request("GET", "/livez", "", wattle::tests::soon());
  REQUIRE(live.has_value());
  CHECK(live->status == 200);
  http::Client user("127.0.0.1", echo_port);
  const auto echo = user.request("GET", "/echo?nonce=n7", "", wattle::tests::soon());
  REQUIRE_MESSAGE(echo.has_value(), echo.error().message());
  CHECK(echo->body == "n7\n");
  CHECK(user.request("GET", "/metrics", "", wattle::tests::soon())->status == 404);
  CHECK(agent.end(SIGTERM) == 0);
}
