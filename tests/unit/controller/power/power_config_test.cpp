#include "controller/power/power_config.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <fstream>

#include "controller/power/credentials.hpp"
#include "tests/unit/common/temp_dir.hpp"

using namespace wattle::controller::power;
using wattle::Errc;

namespace {

struct ConfigFixture {
  wattle::test::TempDir dir;
  std::string credentials = write("credentials", "wattle\ns3cret\n", 0600);
  std::string program = write("program", "#!/bin/sh\n", 0755);

  std::string write(const std::string& name, const std::string& content, mode_t mode) const {
    const std::string path = dir.file(name);
    std::ofstream(path) << content;
    REQUIRE(::chmod(path.c_str(), mode) == 0);
    return path;
  }
  std::string redfish() const { return "redfish: {address: https://10.0.0.7, credentials_file: " + credentials + "}"; }
  std::string exec() const { return "exec: {command: [" + program + ", --site, a]}"; }
  static wattle::Result<PowerConfig> parse(const std::string& item) {
    return parse_power_config("nodes:\n  - " + item + "\n", "power.yaml");
  }
  // The errors of one item.
  static std::string mistakes(const std::string& item) {
    const auto parsed = parse(item);
    if (parsed) return "";
    CHECK(parsed.error().code == Errc::malformed);
    CHECK(parsed.error().subject == "power.yaml");
    return parsed.error().what;
  }
  // The item has exactly one error, in line 2, which contains each of these.
  static void check_mistake(const std::string& item, std::initializer_list<const char*> words) {
    const std::string what = mistakes(item);
    CAPTURE(item);
    CAPTURE(what);
    CHECK(what.starts_with("1 error\n  power.yaml:2: nodes[0]"));
    for (const char* word : words) CHECK(what.find(word) != std::string::npos);
  }
};

}  // namespace

TEST_CASE_FIXTURE(ConfigFixture, "one driver may provide all operations") {
  const auto config = parse("{node: worker-1, " + redfish() + ", wake_time: 150s, asleep_power_w: 9}");
  if (!config) FAIL(config.error().message());
  const NodeDrivers& item = config->nodes.at(0);
  CHECK(item.sleep == DriverKind::redfish);
  CHECK(item.wake == DriverKind::redfish);
  CHECK(item.observe == DriverKind::redfish);
  CHECK(item.wake_s == 150.0);
  CHECK(item.asleep_w == 9.0);
  CHECK(item.redfish->credentials_file == credentials);
}

TEST_CASE_FIXTURE(ConfigFixture, "sleep, wake and observe may have different drivers") {
  const auto config = parse("{node: worker-1, " + exec() + ", wol: {mac: '52:54:00:12:34:56'}, " + redfish() +
                            ", sleep: exec, wake: wol, observe: redfish}");
  if (!config) FAIL(config.error().message());
  CHECK(config->nodes[0].sleep == DriverKind::exec);
  CHECK(config->nodes[0].wake == DriverKind::wol);
  CHECK(config->nodes[0].observe == DriverKind::redfish);
  CHECK(parse("{node: a, " + exec() + ", observe: none}")->nodes[0].observe == DriverKind::none);
}

TEST_CASE_FIXTURE(ConfigFixture, "an item matches by name or pattern, and by all of its labels") {
  NodeDrivers item;
  item.node = "rack1-*-gpu";
  item.labels = {{"rack", "r1"}};
  CHECK(item.matches({"rack1-7-gpu", {{"rack", "r1"}, {"more", "x"}}}));
  CHECK(item.matches({"rack1--gpu", {{"rack", "r1"}}}));
  CHECK_FALSE(item.matches({"rack1-7-gpu", {{"rack", "r2"}}}));
  CHECK_FALSE(item.matches({"rack1-7-gpu", {}}));
  CHECK_FALSE(item.matches({"rack1-7-gpux", {{"rack", "r1"}}}));
  item = {};
  CHECK(item.matches({"any"}));
  item.node = "n1";
  CHECK(item.matches({"n1"}));
  CHECK_FALSE(item.matches({"n10"}));
}

TEST_CASE_FIXTURE(ConfigFixture, "each error has file, line, key and fix") {
  check_mistake("{node: a, " + exec() + ", sleeep: exec}", {".sleeep: unknown key", "sleep"});
  check_mistake("{" + exec() + "}", {".node: missing", "(set node or labels"});
  check_mistake("{node: a b, " + exec() + "}", {".node: ", "(for example worker-1"});
  check_mistake("{node: a, exec: {command: [power]}}", {".exec.command: ", "absolute path"});
  check_mistake("{node: a, exec: {command: [" + dir.file("none") + "]}}", {"does not exist"});
  check_mistake("{node: a, exec: {command: [" + credentials + "]}}", {"is not a program", "(chmod +x"});
  const std::string open = write("open", "#!/bin/sh\n", 0777);
  check_mistake("{node: a, exec: {command: [" + open + "]}}",
                {"can be changed by users other than root", "(chmod go-w"});
  check_mistake("{node: a, " + exec() + ", wake: redfish}", {".wake: the item has no section redfish"});
  check_mistake("{node: a, " + exec() + ", wake: wol, wol: {mac: 52-54}}", {".wol.mac: 52-54", "is not a MAC"});
  check_mistake("{node: a*, " + exec() + ", wake: wol, wol: {mac: '52:54:00:12:34:56'}}", {"belongs to one node"});
  check_mistake("{node: a, " + exec() + ", wake: wol, wol: {mac: '52:54:00:12:34:56', broadcast: lan}}",
                {".wol.broadcast: lan is not an address"});
  for (const char* address : {"10.0.0.255", "'::1'", "'ff02::1%lo'"})
    CHECK(parse("{node: a, " + exec() + ", wake: wol, wol: {mac: '52:54:00:12:34:56', broadcast: " + address +
                "}, sleep: exec, observe: none}"));
  check_mistake("{node: a, " + exec() + ", " + redfish() + ", sleep: exec, wake: exec, observe: none}",
                {".redfish: is used by none of"});
  check_mistake("{node: a, " + exec() + ", " + redfish() + ", sleep: exec, wake: exec}",
                {".observe: missing, and several drivers"});
  check_mistake("{node: a, " + exec() + ", wake_time: 150}", {".wake_time: 150 has no unit"});
  check_mistake("{node: a, ipmi: {address: -x, credentials_file: " + credentials + "}}", {".ipmi.address: -x"});
  check_mistake("{node: a, ipmi: {address: b, cipher_suite: 99, credentials_file: " + credentials + "}}",
                {".ipmi.cipher_suite: 99 is out of range"});
}

TEST_CASE_FIXTURE(ConfigFixture, "an item without a driver that can sleep and wake is refused") {
  CHECK(mistakes("{node: a}").find("sleep: no driver can do it (add a section") != std::string::npos);
  CHECK(mistakes("{node: a, wol: {mac: '52:54:00:12:34:56'}}").find("sleep: no driver can do it") != std::string::npos);
}

TEST_CASE_FIXTURE(ConfigFixture,
                  "a Redfish service needs TLS for its password, and at most one way to verify its certificate") {
  const std::string file = ", credentials_file: " + credentials;
  const std::string print(64, 'a');
  CHECK(mistakes("{node: a, redfish: {address: 'http://127.0.0.1:8000'" + file + "}}").empty());
  CHECK(mistakes("{node: a, redfish: {address: 'https://{node}-bmc.example'" + file + "}}").empty());
  check_mistake("{node: a, redfish: {address: 'http://10.0.0.7'" + file + "}}", {"unencrypted", "(use https://)"});
  check_mistake("{node: a, redfish: {address: 10.0.0.7" + file + "}}", {".redfish.address: 10.0.0.7 is not a URL"});
  check_mistake("{node: a, redfish: {address: 'https://u:p@10.0.0.7'" + file + "}}",
                {".redfish.address: has a user name"});
  check_mistake("{node: a, redfish: {address: 'https://b/redfish'" + file + "}}", {"has a path"});
  check_mistake("{node: a, redfish: {address: 'https://b', fingerprint: abc" + file + "}}", {"64 hexadecimal digits"});
  check_mistake("{node: a, redfish: {address: 'https://b', ca_file: " + dir.file("no.pem") + file + "}}",
                {".redfish.ca_file: ", "no.pem"});
  check_mistake(
      "{node: a, redfish: {address: 'https://b', ca_file: " + program + ", fingerprint: " + print + file + "}}",
      {"together with fingerprint"});
  check_mistake("{node: a, redfish: {address: 'https://b', system: '1'" + file + "}}", {".redfish.system: 1"});
  const auto colons = parse("{node: a, redfish: {address: 'https://b', fingerprint: 'AA" + [] {
    std::string more;
    for (int i = 1; i < 32; ++i) more += ":AA";
    return more;
  }() + "'" + file + "}}");
  REQUIRE(colons);
  CHECK(colons->nodes[0].redfish->fingerprint == print);
}

TEST_CASE_FIXTURE(ConfigFixture, "a credentials file is readable only by its owner, and its content is in no error") {
  const auto with = [&](const std::string& path) {
    return mistakes("{node: a, redfish: {address: https://b, credentials_file: " + path + "}}");
  };
  CHECK(with(dir.file("none")).find("none: No such file") != std::string::npos);
  const std::string open = write("open", "wattle\ns3cret\n", 0640);
  CHECK(with(open).find(open + ": group or others can access a secret") != std::string::npos);
  CHECK(with(open).find("(chmod 0400 " + open + ")") != std::string::npos);
  for (const char* content : {"", "s3cret", "s3cret\n", "s3cret\n\n", "a\ns3cret\nmore\n", "a:b\ns3cret\n",
                              "\ns3cret\n", "a\ns3cret\x01\n"}) {
    const std::string odd = write("odd", content, 0600);
    CAPTURE(content);
    const std::string what = with(odd);
    CHECK(what.find(odd + ": does not have a user name") != std::string::npos);
    CHECK(what.find("s3cret") == std::string::npos);
  }
  CHECK(with("'" + dir.file("{node}") + "'").empty());
}

TEST_CASE_FIXTURE(ConfigFixture, "a credentials file has two lines") {
  const auto read = read_credentials(credentials);
  REQUIRE(read);
  CHECK(read->user == "wattle");
  CHECK(read->password == "s3cret");
  CHECK(read_credentials(write("crlf", "wattle\r\ns3cret\r\n", 0400))->password == "s3cret");
}

TEST_CASE_FIXTURE(ConfigFixture, "an item that repeats an earlier one is refused, and the first match is used") {
  const std::string twice =
      "nodes:\n  - {node: a, " + exec() + "}\n  - {node: 'a*', " + exec() + "}\n  - {node: a, " + exec() + "}\n";
  const auto config = parse_power_config(twice, "power.yaml");
  REQUIRE_FALSE(config);
  CHECK(config.error().what.find("power.yaml:4: nodes[2].node: a repeats an earlier item") != std::string::npos);
}

TEST_CASE_FIXTURE(ConfigFixture, "an agent puts its own node to sleep, and another driver wakes it") {
  const auto config = parse("{node: worker-1, agent: {depth: off}, wol: {mac: 52:54:00:12:34:56}}");
  if (!config) FAIL(config.error().message());
  const NodeDrivers& item = config->nodes.at(0);
  CHECK(item.sleep == DriverKind::agent);
  CHECK(item.agent->depth == Depth::off);
  CHECK(item.wake == DriverKind::wol);
  CHECK(item.observe == DriverKind::none);
  CHECK(driver_names(*config, {"worker-1"}) == "agent, wol");
  CHECK(sleeps_by_agent(*config, {"worker-1"}));
  CHECK_FALSE(sleeps_by_agent(*config, {"worker-2"}));
  check_mistake("{node: worker-1, agent: {}}", {"wake", "no driver can do it"});
  check_mistake("{node: worker-1, agent: {depth: deep}, wol: {mac: 52:54:00:12:34:56}}", {"agent.depth"});
}

TEST_CASE_FIXTURE(ConfigFixture, "a file that does not exist, or is not YAML, is named") {
  CHECK(load_power_config(dir.file("none.yaml")).error().code == Errc::not_found);
  CHECK(parse_power_config("nodes: [", "power.yaml").error().subject.starts_with("power.yaml:"));
  CHECK(parse_power_config("nodes: {}", "power.yaml").error().what.find("not a list") != std::string::npos);
}

TEST_CASE("{node} is replaced by a host name only") {
  CHECK(*for_node("https://{node}-bmc/{node}", {"n1"}) == "https://n1-bmc/n1");
  CHECK(*for_node("plain", {"../x"}) == "plain");
  for (const char* name : {"", "../x", "a/b", "a b", "-a", "a..b", "a:1", "a@b", "a\n"}) {
    CAPTURE(name);
    CHECK(for_node("{node}", {name}).error().code == Errc::malformed);
  }
}
