#include "shim/config.hpp"

#include "common/listeners.hpp"
#include "common/program_config.hpp"
#include "common/tcp_endpoint.hpp"

namespace wattle::shim {
namespace {

void read_endpoint(config::Section& section, std::string_view key, std::string& out) {
  section.read(key, out);
  if (!can_connect_to(out)) section.mistake(key, "'" + out + "' is not an endpoint", kEndpointFix);
}

Result<ShimConfig> read(config::Document document) {
  ShimConfig out;
  config::Section root = document.root();

  config::Section listen = root.section("listen");
  listen.read("address", out.listen_address);
  int port = out.listen_port;
  listen.read("port", port, {.min = 0, .max = 65535});
  out.listen_port = static_cast<std::uint16_t>(port);
  http::read_access(listen, out.listen_address, http::Callers::with_certificate, out.listen_access);
  Listeners listeners;
  listeners.add_http(listen, "listen.port", out.listen_address, out.listen_port);

  listen.read("plugin_socket", out.plugin_socket);
  if (!out.plugin_socket.empty() && out.plugin_socket.front() != '/')
    listen.mistake("plugin_socket", "'" + out.plugin_socket + "' is not an absolute path",
                   "for example /run/wattle-plugin/shim.sock");

  config::Section web = root.section("http");
  web.read("address", out.http_address);
  int http_port = -1;
  web.read("port", http_port, {.min = 0, .max = 65535});
  if (http_port >= 0) out.http_port = static_cast<std::uint16_t>(http_port);
  if (out.http_port) listeners.add_http(web, "http.port", out.http_address, *out.http_port);
  http::read_access(web, out.http_port ? out.http_address : "127.0.0.1", http::Callers::with_token, out.http_access);

  config::Section controller = root.section("controller");
  read_endpoint(controller, "ask", out.ask_endpoint);
  read_endpoint(controller, "feed", out.feed_endpoint);
  controller.read("key", out.key_file, true);
  controller.read("server_key", out.server_key_file, true);

  double deadline_s = std::chrono::duration<double>(out.deadline).count();
  root.read("deadline", deadline_s, {.min = 0.001, .max = 1, .unit = config::Unit::seconds});
  out.deadline = std::chrono::round<std::chrono::milliseconds>(std::chrono::duration<double>(deadline_s));

  root.read("filter", out.filter);
  root.read("bound_scores", out.bound_scores);

  config::read_log_level(root, out.log_level);
  WATTLE_CHECK(document.finish());
  return out;
}

}  // namespace

Result<ShimConfig> load_config(const std::string& path) {
  return config::read_with(read, config::Document::load(path));
}

Result<ShimConfig> parse_config(const std::string& text, const std::string& name) {
  return config::read_with(read, config::Document::parse(text, name));
}

std::vector<config::Key> config_keys() { return config::keys_of(read, "{}"); }

}  // namespace wattle::shim
