// join: `wattle join`: makes this machine a node of the controller that a token names: key, configuration, enrolment,
// unit, first sample. It reports each step and stops at the first failure with the reason. Completed steps stay, and
// the command may be run again.
#include <unistd.h>

#include <chrono>
#include <iostream>
#include <thread>

#include "cli/commands.hpp"
#include "cli/declare.hpp"
#include "cli/process.hpp"
#include "cli/view.hpp"
#include "common/dir.hpp"
#include "common/host_name.hpp"
#include "common/http/client.hpp"
#include "common/http/enrol.hpp"
#include "common/join_token.hpp"
#include "common/parse.hpp"
#include "common/transport/keys.hpp"
#include "common/yaml_tree.hpp"

namespace wattle::cli {

namespace {

using transport::KeyPair;
constexpr const char* kAgentKey = "/etc/wattle/agent.key";
constexpr const char* kServerKeyFile = "/etc/wattle/controller.pub";
constexpr const char* kAgentConfig = "/etc/wattle/agent.yaml";
constexpr const char* kAgentTemplate = "/usr/share/wattle/agent.yaml";
constexpr const char* kAgentUnit = "wattle-agent";
constexpr std::size_t kMostEnrolAnswer = 1 << 20;
constexpr int kSamplePatience_s = 60;

Result<std::string> this_node() {
  const std::string name = host_name();
  if (!transport::Identity::from_user_id("agent/" + name))
    return fail(Errc::malformed, "this machine's name", "is not a valid node name",
                "set a name: wattle join --node NAME -");
  return name;
}

Result<KeyPair> own_pair() {
  auto pair = KeyPair::load(kAgentKey);
  if (pair || pair.error().code != Errc::not_found) return pair;
  const KeyPair made = KeyPair::generate();
  WATTLE_CHECK(made.save(kAgentKey));
  return made;
}

// Returns the configuration with this endpoint and name, based on the existing file or the package's; other lines do
// not change.
Result<std::string> joined_configuration(const std::string& endpoint, const std::string& node) {
  auto text = read_file(kAgentConfig);
  if (!text && text.error().code == Errc::not_found) text = read_file(kAgentTemplate);
  if (!text)
    return fail(text.error().code, text.error().subject, text.error().what, "install the package wattle-agent");
  std::string out;
  bool controller = false, named = false, placed = false;
  const std::string name_line = "node: " + node + "\n";
  parse::for_each_line(*text, [&](std::string_view line) {
    if (!line.empty() && line.front() != ' ' && line.front() != '#') controller = line.starts_with("controller:");
    if (controller && !placed && line.starts_with("  endpoint:")) {
      out += "  endpoint: " + endpoint + "\n";
      placed = true;
    } else if (!named && (line.starts_with("node:") || line.starts_with("# node:"))) {
      out += name_line;
      named = true;
    } else {
      out.append(line).append("\n");
    }
  });
  if (!placed)
    return fail(Errc::malformed, kAgentConfig, "contains no line `  endpoint:` below `controller:`",
                "add the line or move the file away");
  return named ? out : name_line + out;
}

Status check_joined() {
  WATTLE_TRY(const Ran ran,
             run_program({program_of_ours("wattle-agent"), "run", "--config", kAgentConfig, "--check-config"}));
  if (ran.code == 0) return {};
  return fail(Errc::malformed, kAgentConfig, std::string(parse::trim(ran.said)),
              "fix the file, then run wattle join again");
}

Status enrol_here(const JoinToken& token, const KeyPair& own, const std::string& node) {
  http::Origin origin{token.host, token.enrol_port, http::Trust{}};
  origin.tls->fingerprint = token.fingerprint;
  const std::string url = origin.url();
  http::Client client(std::move(origin), kMostEnrolAnswer);
  client.bearer(token.secret);
  WATTLE_TRY(const http::Enrolled enrolled, http::enrol(client, url, "/api/v1/enrol", own.public_key, node));
  if (enrolled.server_keys.front() != token.server_key)
    return fail(Errc::conflict, url, "the controller's key differs from the key in the token",
                "create a new token: wattle keys token new");
  if (enrolled.node != node)
    return fail(Errc::conflict, url,
                "the controller enrolled this machine as node " + enrolled.node + " instead of " + node,
                "wattle join --node " + enrolled.node + " -");
  std::string keys;
  for (const std::string& key : enrolled.server_keys) keys += key + "\n";
  return write_file_atomically(kServerKeyFile, keys, 0644);
}

Status start_unit() {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"systemd-tmpfiles", "--create", "wattle.conf"},
                                                std::vector<std::string>{"systemctl", "enable", kAgentUnit},
                                                std::vector<std::string>{"systemctl", "restart", kAgentUnit}}) {
    WATTLE_TRY(const Ran ran, run_program(words));
    if (ran.code != 0)
      return fail(Errc::unavailable, words[0] + " " + words[1], std::string(parse::trim(ran.said)),
                  std::string("check journalctl -u ") + kAgentUnit);
  }
  return {};
}

std::optional<double> metric_of(const std::string& page, std::string_view name) {
  std::optional<double> value;
  parse::for_each_line(page, [&](std::string_view line) {
    if (line.starts_with(name) && line.size() > name.size() && line[name.size()] == ' ')
      value = parse::real(line.substr(name.size() + 1));
  });
  return value;
}

// Waits for the agent's own report that it is welcome and that the controller has acknowledged its records.
Status wait_for_sample() {
  WATTLE_TRY(const auto documents, load_yaml(kAgentConfig));
  const View web = View(documents.front())["http"];
  const double port = web["port"].number().value_or(0);
  if (port == 0 || web["tls"].present() || web["token_file"].present())
    return fail(Errc::unsupported, kAgentConfig, "/metrics is disabled, or needs TLS or a token",
                "run wattle nodes on the controller's machine");
  http::Client client("127.0.0.1", static_cast<std::uint16_t>(port), 64 << 20);
  std::string seen = "the agent does not answer";
  for (int tenth = 0; tenth < 10 * kSamplePatience_s; ++tenth) {
    const auto page = client.request("GET", "/metrics", "", std::chrono::seconds(2));
    if (page && page->status == 200) {
      const bool connected = metric_of(page->body, "wattle_agent_connected").value_or(0) == 1;
      const double sent = metric_of(page->body, "wattle_agent_sent_records_total").value_or(0);
      const double waiting = metric_of(page->body, "wattle_agent_outbox_records").value_or(0);
      if (connected && sent > waiting) return {};
      seen = connected ? "the controller has acknowledged no sample" : "the agent is not connected to the controller";
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return fail(Errc::timeout, kAgentUnit, seen + " within " + std::to_string(kSamplePatience_s) + " s",
              std::string("check journalctl -u ") + kAgentUnit + " and that the controller's telemetry port is open");
}

struct JoinOptions {
  std::string token, node;
};

Status join_here(const Invocation& invocation, const JoinOptions& options) {
  std::ostream& out = invocation.around.out;
  std::string text = options.token;
  if (text == "-") {
    if (::isatty(STDIN_FILENO) == 1) invocation.around.err << "Paste the token, then press Enter:\n";
    std::getline(std::cin, text);
  } else {
    invocation.around.err << "wattle: join: warning: the token is visible in the process list and in the shell's "
                             "history (use: wattle join -)\n";
  }
  WATTLE_TRY(const JoinToken token, parse_join_token(text));
  if (::geteuid() != 0)
    return fail(Errc::denied, "permission denied", "this command writes to /etc/wattle and starts a unit",
                "run it as root");
  std::string node = options.node;
  if (node.empty()) {
    WATTLE_TRY(node, this_node());
  }
  WATTLE_TRY(const std::string config, joined_configuration(token.telemetry_endpoint(), node));
  WATTLE_TRY(const KeyPair own, own_pair());
  out << kAgentKey << ": key of this machine: " << own.public_key << "\n" << std::flush;
  WATTLE_CHECK(enrol_here(token, own, node));
  out << "enrolled as node " << node << " at " << token.host << ":" << token.enrol_port
      << "; wrote the controller's key to " << kServerKeyFile << "\n"
      << std::flush;
  WATTLE_CHECK(write_file_atomically(kAgentConfig, config, 0640));
  WATTLE_CHECK(check_joined());
  out << kAgentConfig << ": configuration written and checked\n" << std::flush;
  WATTLE_CHECK(start_unit());
  out << kAgentUnit << ": enabled and started\n" << std::flush;
  WATTLE_CHECK(wait_for_sample());
  out << "the controller has received the first sample of this node\n";
  return {};
}

}  // namespace

void declare_join(CLI::App& command, Run& chosen) {
  auto& options = runs<JoinOptions>(command, chosen, [](const Invocation& invocation, const JoinOptions& given) {
    return misuse_if_malformed(join_here(invocation, given));
  });
  command
      .add_option("TOKEN", options.token,
                  "Output of `wattle keys token new`, or - to read it from standard input, which hides it from other "
                  "users")
      ->required();
  command.add_option("--node", options.node, "Node name (default: this machine's host name)");
}

}  // namespace wattle::cli
