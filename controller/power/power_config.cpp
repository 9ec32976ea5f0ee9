#include "controller/power/power_config.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <utility>

#include "common/dir.hpp"
#include "common/http/access.hpp"
#include "common/http/url.hpp"
#include "common/net_address.hpp"
#include "common/trusted_file.hpp"
#include "controller/power/credentials.hpp"
#include "controller/power/magic_packet.hpp"

namespace wattle::controller::power {
namespace {

constexpr int kMostCipherSuite = 17;
constexpr double kMostWakeS = 3600, kMostAsleepW = 10'000;
constexpr double kMostPort = 65'535;
constexpr std::size_t kFingerprintDigits = 64;

bool is_name_letter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.' || c == '_';
}
bool has_node_word(const std::string& text) { return text.find(kNodeWord) != std::string::npos; }

// Characters with a meaning in a path or an address would let a name reach another file or host.
bool is_node_name(std::string_view name) {
  return !name.empty() && std::isalnum(static_cast<unsigned char>(name.front())) != 0 &&
         name.find("..") == std::string_view::npos && std::all_of(name.begin(), name.end(), is_name_letter);
}

bool matches_pattern(std::string_view pattern, std::string_view name) {
  std::size_t p = 0, n = 0, star = std::string_view::npos, from = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      from = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++from;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

// Reports an error of a value as a mistake of its key.
void add(config::Section& section, std::string_view key, const Error& error) {
  section.mistake(key, error.subject + ": " + error.what, error.fix);
}

// A file whose name contains the node's is checked at each call.
void check_credentials(config::Section& section, const std::string& path) {
  if (path.empty() || has_node_word(path)) return;
  if (const auto read = read_credentials(path); !read) add(section, "credentials_file", read.error());
}

ExecConfig read_exec(config::Section section) {
  ExecConfig out;
  section.read("command", out.command);
  if (out.command.empty() || !out.command[0].starts_with('/')) {
    section.mistake("command", "does not begin with the absolute path of a program",
                    "for example [/usr/local/sbin/node-power, --site, a]");
    return out;
  }
  const std::string& program = out.command[0];
  struct stat info {};
  if (::stat(program.c_str(), &info) != 0)
    section.mistake("command", program + " does not exist", "install it, or correct the path");
  else if (!S_ISREG(info.st_mode) || ::access(program.c_str(), X_OK) != 0)
    section.mistake("command", program + " is not a program that this user may run", "chmod +x " + program);
  else if (const Status mine = check_authority(program, info); !mine)
    section.mistake("command", program + " can be changed by users other than root and this one",
                    "chmod go-w " + program);
  return out;
}

void check_address(config::Section& section, const RedfishConfig& redfish) {
  // The error must not repeat a password.
  if (redfish.address.find('@') != std::string::npos)
    return section.mistake("address", "has a user name", "write user name and password into credentials_file");
  const std::string example = "for example https://10.0.0.7";
  const auto address = for_node(redfish.address, Node{"node"});
  const auto url = http::parse_url(*address, example);
  if (!url) return section.mistake("address", redfish.address + " " + url.error().what, url.error().fix);
  if (url->target != "/") section.mistake("address", redfish.address + " has a path", "write the host alone");
  if (!url->origin.tls && url->origin.host != "localhost" && !http::is_loopback(url->origin.host))
    section.mistake("address", redfish.address + " would send the password unencrypted", "use https://");
  if (!url->origin.tls && !(redfish.fingerprint.empty() && redfish.ca_file.empty()))
    section.mistake("address", "has no certificate to check", "use https://, or remove fingerprint and ca_file");
}

void normalise_fingerprint(config::Section& section, std::string& fingerprint) {
  std::string digits;
  for (const char c : fingerprint)
    if (c != ':') digits += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (!digits.empty() &&
      (digits.size() != kFingerprintDigits || digits.find_first_not_of("0123456789abcdef") != std::string::npos))
    section.mistake("fingerprint", "is not 64 hexadecimal digits", "use the SHA-256 of the BMC's certificate");
  fingerprint = std::move(digits);
}

RedfishConfig read_redfish(config::Section section) {
  RedfishConfig out;
  section.read("address", out.address, true);
  section.read("credentials_file", out.credentials_file, true);
  section.read("ca_file", out.ca_file);
  section.read("fingerprint", out.fingerprint);
  section.read("system", out.system);
  section.read("session", out.session);
  normalise_fingerprint(section, out.fingerprint);
  if (!out.address.empty()) check_address(section, out);
  check_credentials(section, out.credentials_file);
  if (!out.ca_file.empty() && !out.fingerprint.empty())
    section.mistake("ca_file", "has no effect together with fingerprint", "remove one of them");
  if (!out.ca_file.empty())
    if (const auto read = read_file(out.ca_file); !read) add(section, "ca_file", read.error());
  if (!out.system.empty() && !out.system.starts_with("/redfish/v1/Systems/"))
    section.mistake("system", out.system + " is not a system's path", "for example /redfish/v1/Systems/1");
  return out;
}

IpmiConfig read_ipmi(config::Section section) {
  IpmiConfig out;
  section.read("address", out.address, true);
  section.read("port", out.port, {.min = 1, .max = kMostPort});
  section.read("credentials_file", out.credentials_file, true);
  section.read("cipher_suite", out.cipher_suite, {.min = 1, .max = kMostCipherSuite});
  const auto host = for_node(out.address, Node{"node"});
  const bool is_host = std::all_of(host->begin(), host->end(), [](char c) { return is_name_letter(c) || c == ':'; });
  if (!out.address.empty() && (!is_host || host->front() == '-'))
    section.mistake("address", out.address + " is not a host name or an address", "for example 10.0.0.7");
  check_credentials(section, out.credentials_file);
  return out;
}

WolConfig read_wol(config::Section section, const std::string& node) {
  WolConfig out;
  section.read("mac", out.mac, true);
  section.read("broadcast", out.broadcast);
  section.read("port", out.port, {.min = 1, .max = kMostPort});
  if (!out.mac.empty())
    if (const auto mac = parse_mac(out.mac); !mac) add(section, "mac", mac.error());
  if (node.find('*') != std::string::npos)
    section.mistake("mac", "belongs to one node, but the item is for " + node, "name the node");
  if (!numeric_address(out.broadcast, 0))
    section.mistake("broadcast", out.broadcast + " is not an address, or not of a network of this machine",
                    "for example 10.0.0.255, or ff02::1%eth0 with IPv6");
  return out;
}

AgentConfig read_agent(config::Section section) {
  auto depth = static_cast<std::size_t>(AgentConfig{}.depth);
  section.read_choice("depth", depth, {kDepthNames.begin(), kDepthNames.end()});
  return {static_cast<Depth>(depth)};
}

struct Role {
  std::string_view key;
  bool required;
  std::vector<DriverKind> able;
};
constexpr std::array<std::string_view, 6> kDriverNames{"none", "exec", "redfish", "ipmi", "wol", "agent"};

bool has(const NodeDrivers& item, DriverKind kind) {
  return (kind == DriverKind::exec && item.exec) || (kind == DriverKind::redfish && item.redfish) ||
         (kind == DriverKind::ipmi && item.ipmi) || (kind == DriverKind::wol && item.wol) ||
         (kind == DriverKind::agent && item.agent);
}

// The driver of the role: the named one, or the only capable one.
DriverKind read_role(config::Section& section, const NodeDrivers& item, const Role& role,
                     std::vector<DriverKind>& used) {
  std::vector<std::string_view> names;
  std::vector<DriverKind> kinds, present;
  if (!role.required) kinds.push_back(DriverKind::none);
  kinds.insert(kinds.end(), role.able.begin(), role.able.end());
  for (const DriverKind kind : kinds) {
    names.push_back(kDriverNames[static_cast<std::size_t>(kind)]);
    if (has(item, kind)) present.push_back(kind);
  }
  std::size_t chosen = names.size();
  section.read_choice(role.key, chosen, names);
  if (chosen < names.size()) {
    if (kinds[chosen] != DriverKind::none && !has(item, kinds[chosen]))
      section.mistake(role.key, "the item has no section " + std::string(names[chosen]), "add it");
    used.push_back(kinds[chosen]);
    return kinds[chosen];
  }
  used.insert(used.end(), present.begin(), present.end());
  if (section.has(role.key)) return DriverKind::none;  // an unknown name, which is already reported as a mistake
  if (present.size() == 1) return present[0];
  if (present.size() > 1)
    section.mistake(role.key, "missing, and several drivers can do it", "name the driver");
  else if (role.required)
    section.mistake(role.key, "no driver can do it", "add a section exec, redfish or ipmi");
  return DriverKind::none;
}

void read_roles(config::Section& section, NodeDrivers& item) {
  using enum DriverKind;
  std::vector<DriverKind> used;  // used by a role, or possibly by a role that names no driver
  item.sleep = read_role(section, item, {"sleep", true, {exec, redfish, ipmi, agent}}, used);
  item.wake = read_role(section, item, {"wake", true, {exec, redfish, ipmi, wol}}, used);
  item.observe = read_role(section, item, {"observe", false, {exec, redfish, ipmi}}, used);
  for (const DriverKind kind : {exec, redfish, ipmi, wol, agent}) {
    const std::string_view name = kDriverNames[static_cast<std::size_t>(kind)];
    if (has(item, kind) && std::find(used.begin(), used.end(), kind) == used.end())
      section.mistake(name, "is used by none of sleep, wake and observe", "name it there, or remove it");
  }
}

NodeDrivers read_item(config::Section& section) {
  NodeDrivers item;
  section.read("node", item.node);
  section.read("labels", item.labels);
  if (item.node.empty() ||
      !std::all_of(item.node.begin(), item.node.end(), [](char c) { return is_name_letter(c) || c == '*'; }))
    section.mistake("node", "is not a node's name or pattern", "for example worker-1 or worker-*");
  if (!section.has("node") && item.labels.empty())
    section.mistake("node", "missing", "set node or labels; node: '*' is every node");
  if (section.has("exec")) item.exec = read_exec(section.section("exec"));
  if (section.has("redfish")) item.redfish = read_redfish(section.section("redfish"));
  if (section.has("ipmi")) item.ipmi = read_ipmi(section.section("ipmi"));
  if (section.has("wol")) item.wol = read_wol(section.section("wol"), item.node);
  if (section.has("agent")) item.agent = read_agent(section.section("agent"));
  read_roles(section, item);
  double wake_s = -1, asleep_w = -1;
  section.read("wake_time", wake_s, {.min = 0, .max = kMostWakeS, .unit = config::Unit::seconds});
  section.read("asleep_power_w", asleep_w, {.min = 0, .max = kMostAsleepW});
  if (wake_s >= 0) item.wake_s = wake_s;
  if (asleep_w >= 0) item.asleep_w = asleep_w;
  return item;
}

PowerConfig read_all(config::Document& document) {
  PowerConfig out;
  for (config::Section& section : document.root().sections("nodes")) {
    NodeDrivers item = read_item(section);
    const auto same = [&](const NodeDrivers& one) { return one.node == item.node && one.labels == item.labels; };
    if (std::any_of(out.nodes.begin(), out.nodes.end(), same))
      section.mistake("node", item.node + " repeats an earlier item, which decides", "remove one of them");
    out.nodes.push_back(std::move(item));
  }
  return out;
}

}  // namespace

bool NodeDrivers::matches(const Node& to) const {
  if (!matches_pattern(node, to.name)) return false;
  return std::all_of(labels.begin(), labels.end(), [&](const auto& wanted) {
    const auto found = to.labels.find(wanted.first);
    return found != to.labels.end() && found->second == wanted.second;
  });
}

Result<PowerConfig> parse_power_config(const std::string& text, const std::string& name) {
  WATTLE_TRY(config::Document document, config::Document::parse(text, name));
  PowerConfig out = read_all(document);
  WATTLE_CHECK(document.finish());
  return out;
}

Result<PowerConfig> load_power_config(const std::string& path) {
  WATTLE_TRY(const std::string text, read_file(path));
  return parse_power_config(text, path);
}

namespace {

const NodeDrivers* drivers_of(const PowerConfig& config, const Node& node) {
  const auto found = std::find_if(config.nodes.begin(), config.nodes.end(),
                                  [&](const NodeDrivers& item) { return item.matches(node); });
  return found == config.nodes.end() ? nullptr : &*found;
}

}  // namespace

bool sleeps_by_agent(const PowerConfig& config, const Node& node) {
  const NodeDrivers* found = drivers_of(config, node);
  return found != nullptr && found->sleep == DriverKind::agent;
}

std::string driver_names(const PowerConfig& config, const Node& node) {
  const NodeDrivers* found = drivers_of(config, node);
  if (found == nullptr) return {};
  std::string names;
  std::set<DriverKind> named{DriverKind::none};
  for (const DriverKind kind : {found->sleep, found->wake, found->observe})
    if (named.insert(kind).second) {
      if (!names.empty()) names += ", ";
      names += kDriverNames[static_cast<std::size_t>(kind)];
    }
  return names;
}

Result<std::string> for_node(const std::string& text, const Node& node) {
  if (!has_node_word(text)) return text;
  if (!is_node_name(node.name))
    return fail(Errc::malformed, node.name, "cannot replace {node}: it is not a host name",
                "write its item without {node}");
  std::string out = text;
  for (auto at = out.find(kNodeWord); at != std::string::npos; at = out.find(kNodeWord, at + node.name.size()))
    out.replace(at, kNodeWord.size(), node.name);
  return out;
}

}  // namespace wattle::controller::power
