#include "cli/manifests.hpp"

#include <doctest/doctest.h>

#include "tests/unit/cli/surroundings.hpp"

using namespace wattle;
using namespace wattle::cli;

namespace {
InstallValues values() {
  InstallValues out;
  out.registry = "registry.example/team";
  out.tag = "1.2.3";
  out.scheduler_version = "v1.34.1";
  return out;
}

std::string made(const InstallValues& given) {
  const auto text = manifests_of(embedded_manifests(), given);
  REQUIRE_MESSAGE(text.has_value(), (text ? "" : text.error().message()));
  return *text;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

// Returns the rest of the line that starts with `start`.
std::string line_after(const std::string& text, const std::string& start) {
  const auto at = text.find(start);
  REQUIRE(at != std::string::npos);
  return text.substr(at + start.size(), text.find('\n', at + start.size()) - at - start.size());
}
}  // namespace

TEST_CASE("the manifests have the given values, and no placeholder remains") {
  InstallValues given = values();
  given.control = "energy";
  given.mode = "canary:10%";
  const std::string text = made(given);
  CHECK(count(text, "placeholder") == 0);
  CHECK(count(text, "image: registry.example/team/wattle-controller:1.2.3\n") == 2);
  CHECK(count(text, "image: registry.k8s.io/kube-scheduler:v1.34.1\n") == 1);
  CHECK(count(text, "endpoint: tcp://wattle-controller.energy.svc:7460\n") == 1);
  CHECK(count(text, "accounts: [energy-agent/wattle-agent]") == 1);
  CHECK(count(text, "mode: \"canary:10%\"\n") == 1);
  CHECK(count(text, "estimate:") == 0);
  given.estimate_w = {60, 240};
  CHECK(count(made(given), "    bpf: {enabled: true}\n    estimate: {idle_w: 60.0, max_w: 240.0}\n---\n") == 1);
}

TEST_CASE("a changed configuration has another name, which its pods use, and the others keep theirs") {
  InstallValues given = values();
  const std::string before = made(given);
  given.mode = "live";
  const std::string after = made(given);
  const auto name = [](const std::string& text, const std::string& map) {
    return line_after(text, "metadata: {name: " + map + "-").substr(0, 8);
  };
  CHECK(name(before, "wattle-controller-config") != name(after, "wattle-controller-config"));
  CHECK(name(before, "wattle-agent-config") == name(after, "wattle-agent-config"));
  CHECK(count(after, "configMap: {name: wattle-controller-config-" + name(after, "wattle-controller-config") + "}") ==
        1);
  CHECK(count(after, "wattle-controller-config-") == 2);
}

TEST_CASE("the Job has another name when its image changes, because a Job is immutable") {
  InstallValues given = values();
  const std::string job = line_after(made(given), "kind: Job\nmetadata:\n  name: wattle-keys-");
  CHECK(job.size() == 8);
  given.mode = "off";
  CHECK(line_after(made(given), "kind: Job\nmetadata:\n  name: wattle-keys-") == job);
  given.tag = "1.2.4";
  CHECK(line_after(made(given), "kind: Job\nmetadata:\n  name: wattle-keys-") != job);
}

TEST_CASE("values that the manifests cannot represent are refused with the option and a fix") {
  cli::test::Outside outside;
  const auto refused = [&](std::vector<std::string> words, const std::string& what) {
    words.insert(words.begin(), {"install", "--kubernetes", "v1.35.4"});
    CAPTURE(what);
    CHECK(outside.run(words) == 2);
    CAPTURE(outside.err.str());
    CHECK(outside.complains_of(what));
    CHECK(outside.out.str().empty());
  };
  refused({}, "--registry is required");
  refused({"--registry", "r e"}, "--registry: invalid value 'r e' (use the registry with its path");
  refused({"--registry", "r.example/"}, "--registry: invalid value");
  refused({"--registry", "r.example", "--tag", "a:b"}, "--tag: invalid value 'a:b'");
  refused({"--registry", "r.example", "--mode", "alive"}, "--mode: invalid value 'alive' (use off, shadow, ");
  refused({"--registry", "r.example", "--mode", "canary:100%"}, "--mode: invalid value");
  refused({"--registry", "r.example", "--controller-namespace", "null"},
          "--controller-namespace: invalid value 'null'");
  refused({"--registry", "r.example", "--controller-namespace", "0x1f"}, "--controller-namespace: invalid value");
  refused({"--registry", "r.example", "--agents-namespace", "wattle"}, "another Pod Security level");
  refused({"--registry", "r.example", "--estimate", "60"}, "--estimate: '60' is not IDLE,MAX in watts");
  refused({"--registry", "r.example", "--estimate", "60,50"}, "--estimate: invalid value '60.0,50.0'");
  refused({"--registry", "r.example", "--kubernetes", "1.35"}, "--kubernetes: ");
  CHECK(outside.run({"install", "--registry", "r.example", "--kubeconfig", "/none"}) == 1);
  CHECK(outside.complains_of("pass --kubernetes VERSION"));
}
