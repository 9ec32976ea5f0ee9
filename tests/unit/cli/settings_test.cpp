#include "cli/settings.hpp"

#include <doctest/doctest.h>

#include <fstream>

#include "surroundings.hpp"

using namespace wattle;
using namespace wattle::cli;
using namespace wattle::cli::test;

namespace {
Result<Settings> settings_of(Outside& outside, const CommonOptions& common) {
  Surroundings around{outside.out, outside.err, false, [&](const char* name) -> std::optional<std::string> {
                        const auto found = outside.variables.find(name);
                        return found == outside.variables.end() ? std::nullopt : std::optional(found->second);
                      }};
  return load_settings({common, around});
}
}  // namespace

TEST_CASE("an endpoint that cannot be connected to is refused by its option or key") {
  const Folder folder;
  Outside outside;
  CommonOptions said;
  said.server = "tcp://a:99999";
  CHECK(settings_of(outside, said).error().message().find("--server: 'tcp://a:99999' is not an endpoint") !=
        std::string::npos);
  outside.variables["WATTLE_CONFIG"] = folder / "cli.yaml";
  std::ofstream(folder / "cli.yaml") << "feed: tcp://a\n";
  CHECK(settings_of(outside, {}).error().message().find("feed: 'tcp://a' is not an endpoint") != std::string::npos);
}

TEST_CASE("the command line takes precedence over the file, and the file over the defaults") {
  const Folder folder;
  Outside outside;
  outside.variables["HOME"] = "/nobody";
  auto plain = settings_of(outside, {});
  REQUIRE(plain);
  CHECK(plain->server == "tcp://127.0.0.1:7462");
  CHECK(plain->key_file == "/nobody/.config/wattle/cli.key");
  CHECK(plain->timeout.count() == 5000);

  outside.variables["WATTLE_CONFIG"] = folder / "cli.yaml";
  std::ofstream(folder / "cli.yaml") << "server: tcp://a:1\nkey: ~/k\ntimeout: 250ms\n";
  CommonOptions said;
  said.server = "tcp://b:2";
  auto both = settings_of(outside, said);
  REQUIRE(both);
  CHECK(both->server == "tcp://b:2");
  CHECK(both->key_file == "/nobody/k");
  CHECK(both->timeout.count() == 250);
}

TEST_CASE("a configuration error exits with 2 and names file and key") {
  const Folder folder;
  Outside outside;
  outside.variables["WATTLE_CONFIG"] = folder / "cli.yaml";
  CHECK(outside.run({"nodes"}) == 2);
  CHECK(outside.complains_of(folder / "cli.yaml"));
  std::ofstream(folder / "cli.yaml") << "sever: tcp://a:1\ntimeout: soon\n";
  CHECK(outside.run({"nodes"}) == 2);
  CHECK(outside.complains_of("sever"));
  CHECK(outside.complains_of("timeout"));
}

TEST_CASE("usage errors exit with 2") {
  Outside outside;
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"nonsense"},
                                             {"nodes", "-o", "xml"},
                                             {"node"},
                                             {"decisions", "--limit", "0"},
                                             {"keys", "nwe"},
                                             {"keys", "new"},
                                             {"nodes", "--timeout", "never"},
                                             {"nodes", "--key", "/nowhere/key", "--server-key", "/nowhere/pub"},
                                             {"nodes"}}) {
    CHECK(outside.run(words) == 2);
    CHECK_FALSE(outside.err.str().empty());
  }
  CHECK(outside.run({"--help"}) == 0);
  for (const char* group : {"keys", "model", "policy", "provision", "sleep"}) {
    CHECK(outside.run({group}) == 0);
    CHECK(outside.out.str().find("Usage: wattle " + std::string(group)) != std::string::npos);
  }
  CHECK(outside.run({}) == 0);
}
