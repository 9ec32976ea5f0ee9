#include "common/listeners.hpp"

#include <arpa/inet.h>
#include <net/if.h>
#include <sys/un.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "common/net_address.hpp"

namespace wattle {
namespace {

constexpr const char* kEndpointForm = "use tcp://ADDRESS:PORT, for example tcp://*:7460";
constexpr std::size_t kLongestPath = sizeof(sockaddr_un::sun_path) - 1;

bool is_interface(std::string_view host) {
  return !host.empty() && host.size() < IF_NAMESIZE && host.find_first_of(" \t\r\n/[]*?:;") == std::string_view::npos &&
         host.find_first_not_of("0123456789.") != std::string_view::npos;
}

// Unlike getaddrinfo, does not accept an IPv4 address with fewer than four numbers, which no socket opens.
bool is_address(const std::string& host) {
  in_addr v4{};
  in6_addr v6{};
  const std::string without_zone = host.substr(0, host.find('%'));
  return ::inet_pton(AF_INET, host.c_str(), &v4) == 1 || ::inet_pton(AF_INET6, without_zone.c_str(), &v6) == 1;
}

// Returns "*" for a wildcard address, which conflicts with every address on the same port.
std::string host_of(const std::string& host) { return host == "::" || host == "0.0.0.0" ? "*" : host; }

}  // namespace

void Listeners::add_http(config::Section& section, std::string_view name, const std::string& address,
                         std::uint16_t port) {
  if (!is_address(address))
    return section.mistake("address", "'" + address + "' is not an IP address", "for example 127.0.0.1, 0.0.0.0 or ::");
  add(section, "port", {std::string(name), host_of(address), port});
}

void Listeners::add_endpoint(config::Section& section, std::string_view name, std::string_view key,
                             const std::string& endpoint) {
  constexpr std::string_view kIpc = "ipc://";
  if (endpoint.starts_with(kIpc)) return add_socket(section, name, key, endpoint.substr(kIpc.size()));
  const auto at = parse_tcp_endpoint(endpoint);
  if (!at || (at->host != "*" && !is_address(at->host) && !is_interface(at->host)))
    return section.mistake(key, "'" + endpoint + "' is not an address to listen on", kEndpointForm);
  add(section, key, {std::string(name), host_of(at->host), at->port});
}

void Listeners::add_socket(config::Section& section, std::string_view name, std::string_view key,
                           const std::string& path) {
  const std::string quoted = "'" + path + "'";
  if (path.empty() || path.front() != '/')
    return section.mistake(key, quoted + " is not an absolute path", "for example /run/wattle/NAME.sock");
  if (path.size() > kLongestPath)
    return section.mistake(key, quoted + " is longer than the " + std::to_string(kLongestPath) + " bytes of a socket's",
                           "use a shorter path");
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error))
    return section.mistake(key, quoted + ": there is no folder " + folder.string(), "create the folder");
  if (std::filesystem::is_directory(path, error))
    return section.mistake(key, quoted + " is a folder", "use the path of a socket in it");
  add(section, key, {std::string(name), path, 0});
}

void Listeners::add(config::Section& section, std::string_view key, Listener listener) {
  const bool socket = listener.host.starts_with('/');
  const auto same = std::find_if(all_.begin(), all_.end(), [&](const Listener& other) {
    if (socket) return other.host == listener.host;
    return listener.port != 0 && other.port == listener.port &&
           (other.host == listener.host || other.host == "*" || listener.host == "*");
  });
  if (same != all_.end())
    section.mistake(
        key, (socket ? "'" + listener.host + "'" : std::to_string(listener.port)) + " is already used by " + same->name,
        socket ? "use another path" : "use another port");
  all_.push_back(std::move(listener));
}

}  // namespace wattle
