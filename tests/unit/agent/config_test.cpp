#include "agent/config.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "agent/incarnation.hpp"
#include "tests/places.hpp"
#include "tree.hpp"

using namespace wattle;
using namespace wattle::agent;

TEST_CASE("a full configuration is parsed as written") {
  const auto config = parse_config(R"(
node: worker-1
tick: 250ms
state_dir: /tmp/x
spool: {max_bytes: 16777216}
pod_capacity: 110
labels: {zone: a}
pod_parents: [/jobs]
controller: {endpoint: "tcp://127.0.0.1:7460", server_key: s.pub, key: a.key}
http: {address: 0.0.0.0, port: 9460, token_file: /t}
echo: {address: "::", port: 9461}
root: /host
probes:
  - {name: default, url: "tcp://gateway:443"}
  - {name: web, url: "http://web.example/healthz", interval: 5s}
  - {name: router, url: "icmp://[::1]", interval: 500ms}
estimate: {idle_w: 50, max_w: 200, curve: [0, 0.7, 1]}
log: {level: debug}
)",
                                   "agent.yaml");
  REQUIRE_MESSAGE(config.has_value(), config.error().message());
  CHECK(config->node == "worker-1");
  CHECK(config->tick == std::chrono::milliseconds(250));
  CHECK(config->controller.server_key_file == "s.pub");
  CHECK(*config->http_port == 9460);
  CHECK(config->http_access.token_file == "/t");
  CHECK(config->echo.address == "::");
  CHECK(*config->echo.port == 9461);
  CHECK(config->spool_max_bytes == 16777216);
  CHECK(config->roots.proc == "/host/proc");
  CHECK(config->roots.sys == "/host/sys");
  CHECK(config->roots.prefix.empty());
  REQUIRE(config->probes.size() == 3);
  CHECK(config->probes[0].port == 443);
  CHECK(config->probes[0].kind == ProbeKind::tcp);
  CHECK(config->probes[0].interval == std::chrono::seconds(1));
  CHECK(config->probes[0].timeout == std::chrono::seconds(1));
  CHECK(config->probes[1].kind == ProbeKind::http);
  CHECK(config->probes[1].path == "/healthz");
  CHECK(config->probes[1].timeout == std::chrono::seconds(1));
  CHECK(config->probes[1].host == "web.example");
  CHECK(config->probes[1].port == 80);
  CHECK(config->probes[2].kind == ProbeKind::icmp);
  CHECK(config->probes[2].host == "::1");
  CHECK(config->probes[2].timeout == std::chrono::milliseconds(500));  // never longer than the interval
  CHECK(*config->estimate.max_w == doctest::Approx(200));
  CHECK(config->log_level == LogLevel::debug);
}

TEST_CASE("an empty configuration means this host at one tick a second") {
  const auto config = parse_config("{}", "agent.yaml");
  REQUIRE(config.has_value());
  CHECK(config->node == own_node_name());
  CHECK(config->tick == std::chrono::seconds(1));
  CHECK_FALSE(config->http_port.has_value());
  CHECK(config->http_access.token_file.empty());
  CHECK(config->roots.own_proc());
}

TEST_CASE("a page that other hosts reach has TLS or a token, or is explicitly open") {
  const auto reported = [](const std::string& more) {
    const auto config = parse_config("http: {address: 0.0.0.0, port: 9460" + more + "}", "agent.yaml");
    return config ? std::string() : config.error().message();
  };
  CHECK(reported("").find("is reachable from other machines without authentication") != std::string::npos);
  CHECK(reported(", insecure: true") == "");
  CHECK(reported(", token_file: /t") == "");
  CHECK(reported(", tls: {certificate: /c, key: /k}") == "");
  CHECK(reported(", tls: {certificate: /c}").find("key") != std::string::npos);
  CHECK(parse_config("http: {address: 0.0.0.0}", "agent.yaml"));  // without a port there is no listener
}

TEST_CASE("all errors are reported at once") {
  const auto config = parse_config(R"(
tick: 50ms
nodes: x
controller: {endpoint: "tcp://c:70000"}
probes: [{name: a, url: "tcp://h:0"}, {name: a, url: "tcp://h:1"}]
estimate: {idle_w: 5}
echo: {address: 0.0.0.0}
pod_parents: [jobs]
)",
                                   "agent.yaml");
  REQUIRE_FALSE(config.has_value());
  const std::string message = config.error().message();
  CAPTURE(message);
  for (const char* part : {"tick", "nodes", "'tcp://c:70000' is not an endpoint", "controller.server_key",
                           "controller.key", "probes[0].url", "echo.port", "'a' is a duplicate", "max_w", "'jobs'"})
    CHECK_MESSAGE(message.find(part) != std::string::npos, part);
}

TEST_CASE("a node's name is one that an allow list can contain") {
  for (const std::string name : {"worker-1", "Worker_1.example.com", "10", "\"1e3\""})
    CHECK_MESSAGE(parse_config("node: " + name, "agent.yaml"), name);
  for (const std::string& name : {std::string("'a b'"), std::string("shop/web"), std::string("'*'"),
                                  std::string("w\xc3\xb6rker"), std::string(254, 'a')}) {
    const auto config = parse_config("node: " + name, "agent.yaml");
    REQUIRE_FALSE_MESSAGE(config, name);
    CHECK(config.error().message().find("is not the name of a node") != std::string::npos);
  }
}

TEST_CASE("an invalid probe is refused with the fix") {
  const std::pair<const char*, const char*> wrong[] = {
      {"{name: a}", "url"},
      {"{name: a, host: h, port: 7}", "host: unknown key"},
      {"{name: a, url: 'tcp://h'}", "is not a target"},
      {"{name: a, url: 'tcp://[::1]'}", "is not a target"},
      {"{name: a, url: 'tcp://h:7/x'}", "is not a target"},
      {"{name: a, url: 'tcp://h:70000'}", "is not a target"},
      {"{name: a, url: 'icmp://h:7'}", "is not a target"},
      {"{name: a, url: 'udp://h:7'}", "is not a target"},
      {"{name: a, url: 'h:7'}", "is not a target"},
      {"{name: a, url: 'http://'}", "is not a target"},
      {"{name: a, url: 'http://a b/'}", "is not a target"},
      {"{name: a, url: 'tcp://h:7', interval: 100ms}", "interval"},
      {"{name: a, url: 'tcp://h:7', interval: 60s}", "interval"},
  };
  for (const auto& one : wrong) {
    const auto& probe = one.first;
    const auto& part = one.second;
    CAPTURE(probe);
    const auto config = parse_config("probes: [" + std::string(probe) + "]", "agent.yaml");
    REQUIRE_FALSE(config.has_value());
    CHECK_MESSAGE(config.error().message().find(part) != std::string::npos, config.error().message());
  }
}

TEST_CASE("an incarnation rises at each start, whatever happens to clock and file") {
  const agent::test::Tree tree;
  const std::string dir = tree.path() + "/state";
  const WallTime now = wall_from_ns(1'000'000'000LL * 1'700'000'000);
  const auto first = next_incarnation(dir, now);
  REQUIRE(first.has_value());
  CHECK(first->number == 1'700'000'000);
  CHECK_FALSE(first->healed);
  CHECK(next_incarnation(dir, now)->number == first->number + 1);
  CHECK(next_incarnation(dir, wall_from_ns(0))->number == first->number + 2);  // the clock was set back
  tree.remove("state/incarnation");
  CHECK(next_incarnation(dir, now + std::chrono::seconds(60))->number > first->number + 2);  // the file was lost
}

TEST_CASE("an incarnation file that is empty, damaged or not a file is replaced and reported") {
  const agent::test::Tree tree;
  const std::string dir = tree.path() + "/state", path = dir + "/incarnation";
  const WallTime now = wall_from_ns(1'000'000'000LL * 1'700'000'000);
  for (const char* content : {"", "soon\n", "18446744073709551615\n", "4611686018427387904\n", "\xff\xff"}) {
    CAPTURE(content);
    tree.put("state/incarnation", content);
    const auto healed = next_incarnation(dir, now);
    REQUIRE(healed.has_value());
    CHECK(healed->number == 1'700'000'000);
    REQUIRE(healed->healed);
    CHECK(healed->healed->subject == path);
    CHECK_FALSE(next_incarnation(dir, now)->healed);
  }
  tree.remove("state/incarnation");
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  const auto healed = next_incarnation(dir, now);
  REQUIRE(healed.has_value());
  CHECK(healed->healed->what == "is a FIFO, not a file");
  struct stat info {};
  REQUIRE(::stat(path.c_str(), &info) == 0);
  CHECK((info.st_mode & 07777U) == 0600);
  tree.remove("state/incarnation");
  REQUIRE(::mkdir(path.c_str(), 0700) == 0);
  const auto blocked = next_incarnation(dir, now);
  REQUIRE_FALSE(blocked.has_value());
  CHECK(blocked.error().message().find("is a directory, not a file") != std::string::npos);
}

TEST_CASE("a spool has a useful minimum size, or is disabled") {
  CHECK(parse_config("spool: {max_bytes: 0}", "agent.yaml").value().spool_max_bytes == 0);
  CHECK_FALSE(parse_config("spool: {max_bytes: 1000}", "agent.yaml"));
}

TEST_CASE("an incarnation is at least what the spool requires") {
  const agent::test::Tree tree;
  const WallTime now = wall_from_ns(1'000'000'000LL * 1'700'000'000);
  CHECK(next_incarnation(tree.path() + "/state", now, 1'800'000'000)->number == 1'800'000'000);
  CHECK(next_incarnation(tree.path() + "/state", now)->number == 1'800'000'001);
}

TEST_CASE("an agent that enrols needs no key files, and sends its token only over TLS") {
  const auto config = [](const std::string& enrol) {
    return parse_config("state_dir: /s\ncontroller: {endpoint: \"tcp://a:7460\", enrol: {" + enrol + "}}\n", "test");
  };
  const auto reported = config("url: \"https://[::1]:7463\", token_file: /t, ca_file: /c");
  REQUIRE_MESSAGE(reported.has_value(), reported.error().message());
  CHECK(reported->controller.key_file == "/s/agent.key");
  CHECK(reported->controller.server_key_file == "/s/controller.pub");
  CHECK(reported->controller.enrol.host == "::1");
  CHECK(reported->controller.enrol.port == 7463);
  CHECK(reported->controller.enrol.path == "/api/v1/enrol");
  CHECK(config("url: \"http://127.0.0.1:7463/x\", token_file: /t")->controller.enrol.path == "/x");
  for (const std::string& wrong : std::vector<std::string>{
           "url: \"https://a:7463\", ca_file: /c", "url: \"https://a:7463\", token_file: /t",
           "url: \"https://a\", token_file: /t, ca_file: /c", "url: \"ftp://a:1\", token_file: /t, ca_file: /c",
           "url: \"http://a:7463\", token_file: /t"}) {
    CAPTURE(wrong);
    CHECK_FALSE(config(wrong));
  }
}

TEST_CASE("an actuator's orders need a tick within its timeout, and never set limits for all workloads") {
  const auto fine = parse_config("provisioning: {socket: /run/s, limits: [a.service]}\n", "f");
  REQUIRE(fine);
  CHECK(fine->provisioning.limits == std::vector<std::string>{"a.service"});
  CHECK_FALSE(parse_config("{tick: 10s, provisioning: {socket: /run/s}}\n", "f"));
  CHECK_FALSE(parse_config("provisioning: {socket: /run/s, level: limits}\n", "f"));
}

TEST_CASE("the latency of a service is read only on this machine, and each error in it is named") {
  const auto with = [](const std::string& source) {
    return parse_config("provisioning: {socket: /run/s, latency: [" + source + "]}\n", "f");
  };
  const std::string rest = ", histogram: h_seconds, target: 100ms";
  const auto fine = with("{workload: a.service, url: 'http://[::1]:91/m?x=1', labels: {code: '200'}" + rest + "}");
  REQUIRE(fine);
  REQUIRE(fine->provisioning.latency.size() == 1);
  const LatencySource& source = fine->provisioning.latency[0];
  CHECK(source.workload == "a.service");
  CHECK(source.host == "::1");
  CHECK(source.port == 91);
  CHECK(source.path == "/m?x=1");
  CHECK(source.histogram.name == "h_seconds");
  CHECK(source.histogram.labels.at("code") == "200");
  CHECK(source.histogram.target_s == doctest::Approx(0.1));
  const auto refuses = [&](const std::string& text, std::string_view word) {
    INFO(text);
    const auto config = with(text);
    REQUIRE_FALSE(config);
    CHECK(config.error().what.find(word) != std::string::npos);
  };
  for (const char* url : {"http://10.0.0.7:91/metrics", "http://localhost:91/m", "http://127.example.com/m",
                          "https://127.0.0.1:91/m", "ftp://127.0.0.1/m", "127.0.0.1:91", "http://127.0.0.1:0/m"})
    refuses("{workload: a.service, url: '" + std::string(url) + "'" + rest + "}", "http://127.0.0.1:9102/metrics");
  const std::string at = "workload: a.service, url: 'http://127.0.0.1:91/m'";
  refuses("{" + at + ", histogram: h-seconds, target: 1s}", "http_request_duration_seconds");
  refuses("{" + at + ", histogram: h_bucket, target: 1s}", "ends in _bucket");
  refuses("{" + at + ", labels: {le: '1'}" + rest + "}", "target");
  refuses("{" + at + ", histogram: h}", "target");
  refuses("{" + at + rest + "}, {" + at + rest + "}", "is a duplicate");
}
