#include "cli/settings.hpp"

#include <filesystem>
#include <utility>

#include "common/config.hpp"
#include "common/parse.hpp"
#include "common/tcp_endpoint.hpp"

namespace wattle::cli {

namespace {
constexpr double kMinTimeout_s = 0.01;
constexpr double kMaxTimeout_s = 600;
constexpr const char* kOfController = "/etc/wattle/cli.yaml";  // written by `wattle keys controller`

std::string at_home(const std::string& path, const std::string& home) {
  return path.starts_with("~/") && !home.empty() ? home + path.substr(1) : path;
}

std::chrono::milliseconds milliseconds_of(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

Status read_document(config::Document document, const std::string& home, Settings& out) {
  config::Section root = document.root();
  double timeout_s = static_cast<double>(out.timeout.count()) / 1000;
  for (const auto& [key, endpoint] : {std::pair{"server", &out.server}, {"feed", &out.feed}}) {
    root.read(key, *endpoint);
    if (root.has(key) && !can_connect_to(*endpoint))
      root.mistake(key, "'" + *endpoint + "' is not an endpoint", kEndpointFix);
  }
  root.read("key", out.key_file);
  root.read("server_key", out.server_key_file);
  root.read("allow_list", out.allow_list_file);
  root.read("timeout", timeout_s, {.min = kMinTimeout_s, .max = kMaxTimeout_s, .unit = config::Unit::seconds});
  WATTLE_CHECK(document.finish());
  out.timeout = milliseconds_of(timeout_s);
  for (std::string* file : {&out.key_file, &out.server_key_file, &out.allow_list_file}) *file = at_home(*file, home);
  return {};
}

Status read_file(const std::string& path, const std::string& home, Settings& out) {
  WATTLE_TRY(config::Document document, config::Document::load(path));
  return read_document(std::move(document), home, out);
}

// Derives the feed's endpoint from the default ports: 7461 next to 7462.
std::string feed_beside(const std::string& server) {
  const auto colon = server.rfind(':');
  if (colon == std::string::npos) return server;
  const std::uint64_t port = parse::u64(std::string_view(server).substr(colon + 1)).value_or(0);
  return port > 1 ? server.substr(0, colon + 1) + std::to_string(port - 1) : server;
}

void use_home(const std::string& home, Settings& out) {
  out.key_file = home + "/.config/wattle/cli.key";
  out.server_key_file = home + "/.config/wattle/server.pub";
}
}  // namespace

std::vector<config::Key> config_keys() {
  auto document = config::Document::parse("{}", "keys");
  Settings out;
  use_home("~", out);
  static_cast<void>(read_document(*document, {}, out));
  return document->keys();
}

Result<Settings> read_settings(const Invocation& invocation) {
  const CommonOptions& said = invocation.common;
  const std::string home = invocation.around.variable("HOME").value_or("");
  Settings out;
  if (!home.empty()) use_home(home, out);
  const std::string usual = home + "/.config/wattle/cli.yaml";
  std::error_code unreadable;
  const auto named = invocation.around.variable("WATTLE_CONFIG");
  if (named && !named->empty()) {
    WATTLE_CHECK(read_file(*named, home, out));
  } else if (!home.empty() && std::filesystem::exists(usual)) {
    WATTLE_CHECK(read_file(usual, home, out));
  } else if (std::filesystem::exists(kOfController, unreadable)) {
    WATTLE_CHECK(read_file(kOfController, home, out));
  }
  out.found = (named && !named->empty()) || !said.key.empty() || (!home.empty() && std::filesystem::exists(usual)) ||
              std::filesystem::exists(kOfController, unreadable);
  out.by_cluster =
      said.server.empty() && (!said.cluster.context.empty() ||
                              (!out.found && (said.cluster.given() || invocation.around.name == kKubectlPlugin)));
  for (const auto& [option, endpoint] : {std::pair{"--server", &said.server}, {"--feed", &said.feed}})
    if (!endpoint->empty() && !can_connect_to(*endpoint))
      return fail(Errc::malformed, option, "'" + *endpoint + "' is not an endpoint", kEndpointFix);
  if (!said.server.empty()) out.server = said.server;
  if (!said.feed.empty()) out.feed = said.feed;
  if (out.feed.empty()) out.feed = feed_beside(out.server);
  if (!said.key.empty()) out.key_file = said.key;
  if (!said.server_key.empty()) out.server_key_file = said.server_key;
  if (!said.timeout.empty()) {
    const auto timeout_s = parse::duration_s(said.timeout);
    if (!timeout_s || *timeout_s < kMinTimeout_s || *timeout_s > kMaxTimeout_s)
      return fail(Errc::malformed, "--timeout", "'" + said.timeout + "' is not a duration of 10ms to 10m",
                  "for example 250ms, 5s or 1m");
    out.timeout = milliseconds_of(*timeout_s);
  }
  return out;
}

Result<Settings> load_settings(const Invocation& invocation) {
  WATTLE_TRY(Settings out, read_settings(invocation));
  if (!out.by_cluster) return out;
  WATTLE_TRY(out.route, ClusterRoute::open_(invocation));
  out.server = out.route->server();
  out.feed = invocation.common.feed.empty() ? out.route->feed() : invocation.common.feed;
  return out;
}

}  // namespace wattle::cli
