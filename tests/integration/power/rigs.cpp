#include "tests/integration/power/rigs.hpp"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>

#include "common/clock.hpp"
#include "common/dir.hpp"
#include "common/http/certificate.hpp"
#include "controller/power/configured_power.hpp"
#include "tests/integration/power/bmc.hpp"
#include "tests/unit/controller/fake_power.hpp"

namespace wattle::controller::power::test {
namespace {

const SystemClock kRigClock;

// A power program in ten lines; the machine is a file next to it.
constexpr const char* kProgram = R"sh(#!/bin/sh
machine=$(dirname "$0")/machine
request=$(cat)
case "$request" in
  *'"request":"probe"'*) echo '{"depths": ["suspend", "off"], "wake_time_s": 5, "asleep_power_w": 1}' ;;
  *'"request":"sleep"'*) echo off >"$machine" ;;
  *'"request":"wake"'*) echo on >"$machine" ;;
  *) printf '{"state": "%s", "power_w": 80}' "$(cat "$machine")" ;;
esac
)sh";

struct FakeRig final : Rig {
  FakeRig() {
    name = "fake";
    metered = true;
    auto fake = std::make_unique<FakePower>();
    fake->add(node.name);
    power = std::move(fake);
  }
};

struct ExecRig final : Rig {
  ExecRig() {
    name = "exec";
    write_file(dir, "machine", "on", 0644);
    power = power_of(item_of("exec: {command: [" + write_file(dir, "power", kProgram, 0755) + "]}"));
    silent = power_of(item_of("exec: {command: [" + write_file(dir, "silent", "#!/bin/sh\nsleep 1000\n", 0755) + "]}"));
  }
};

// A port that accepts connections and never answers.
struct Mute {
  Fd socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  std::string port;

  Mute() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    REQUIRE(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), length) == 0);
    REQUIRE(::listen(socket.get(), 64) == 0);
    REQUIRE(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &length) == 0);
    port = std::to_string(ntohs(address.sin_port));
  }
};

struct RedfishRig : Rig {
  explicit RedfishRig(const std::string& scheme = "http", const std::string& more = "", http::TlsFiles tls = {})
      : bmc(std::move(tls)) {
    name = "redfish " + scheme + more;
    metered = true;
    const std::string good =
        write_file(dir, "credentials", std::string(Bmc::kUser) + "\n" + Bmc::kPassword + "\n", 0400);
    denied_file = write_file(dir, "wrong", std::string(Bmc::kUser) + "\nwr0ng-secret\n", 0400);
    const auto of = [&](const std::string& port, const std::string& file) {
      return power_of(item_of("redfish: {address: '" + scheme + "://127.0.0.1:" + port +
                              "', credentials_file: " + file + more + "}"));
    };
    power = of(bmc.port(), good);
    denied = of(bmc.port(), denied_file);
    silent = of(mute.port, good);
    secrets = {Bmc::kPassword, "wr0ng-secret", Bmc::kToken, base64_encode(std::string("wattle:") + Bmc::kPassword)};
  }
  Bmc bmc;
  Mute mute;
};

struct TlsFolder {
  wattle::test::TempDir dir;
  http::TlsFiles files;
  std::string fingerprint;

  TlsFolder() {
    const auto made = http::self_signed({"bmc.example"}, kRigClock.wall(), std::chrono::hours(48));
    REQUIRE(made);
    files.certificate = write_file(dir, "bmc.pem", made->certificate, 0644);
    files.key = write_file(dir, "bmc.key", made->key, 0400);
    fingerprint = *http::certificate_file_fingerprint(files.certificate);
  }
};
struct TlsRig final : TlsFolder, RedfishRig {
  TlsRig() : RedfishRig("https", ", session: true, fingerprint: " + fingerprint, files) { bmc.refuse_basic(); }
};

struct GivenRig final : Rig {
  explicit GivenRig(const std::string& folder) {
    name = folder;
    const auto load = [&](const std::string& file) -> std::unique_ptr<NodePower> {
      const auto text = read_file(folder + "/" + file);
      return text ? power_of(*text) : nullptr;
    };
    power = load("power.yaml");
    denied = load("denied.yaml");
    silent = load("silent.yaml");
    denied_file = folder + "/wrong";
    metered = read_file(folder + "/metered").has_value();
    for (const char* file : {"credentials", "wrong"}) {
      const auto text = read_file(folder + "/" + file);
      if (text) secrets.push_back(text->substr(text->find('\n') + 1, text->rfind('\n') - text->find('\n') - 1));
    }
    REQUIRE(power);
  }
};

}  // namespace

std::string write_file(const wattle::test::TempDir& dir, const std::string& name, const std::string& content,
                       unsigned mode) {
  const std::string path = dir.file(name);
  std::ofstream(path) << content;
  REQUIRE(::chmod(path.c_str(), static_cast<mode_t>(mode)) == 0);
  return path;
}

std::unique_ptr<NodePower> power_of(const std::string& yaml) {
  auto config = parse_power_config(yaml, "power.yaml");
  if (!config) FAIL(config.error().message());
  return std::make_unique<ConfiguredPower>(std::move(*config), kRigClock);
}

std::string item_of(const std::string& section) { return "nodes: [{node: node, " + section + "}]"; }

std::vector<std::unique_ptr<Rig>> make_rigs() {
  std::vector<std::unique_ptr<Rig>> rigs;
  if (const char* given = std::getenv("WATTLE_POWER_GIVEN"); given != nullptr) {
    rigs.push_back(std::make_unique<GivenRig>(given));
    return rigs;
  }
  rigs.push_back(std::make_unique<FakeRig>());
  rigs.push_back(std::make_unique<ExecRig>());
  rigs.push_back(std::make_unique<RedfishRig>());
  rigs.push_back(std::make_unique<TlsRig>());
  return rigs;
}

}  // namespace wattle::controller::power::test
