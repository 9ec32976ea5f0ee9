#include "common/http/hosts.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>

#include "common/http/head.hpp"

namespace wattle::http {
namespace {

constexpr std::array<std::string_view, 3> kNeverPublic{".localhost", ".svc", ".svc.cluster.local"};

bool is_address(int family, const std::string& text) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  return ::inet_pton(family, text.c_str(), bytes.data()) == 1;
}

bool is_port(std::string_view text) {
  return text.size() <= 5 && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

Hosts::Hosts(std::vector<std::string> configured, std::string_view machine) : names_(std::move(configured)) {
  if (!machine.empty()) names_.emplace_back(machine);
  for (std::string& name : names_) name = lower_case(name);
}

bool Hosts::admit(std::string_view host) const {
  if (host.starts_with('[')) {
    const auto end = host.find(']');
    if (end == std::string_view::npos || !is_address(AF_INET6, std::string(host.substr(1, end - 1)))) return false;
    host.remove_prefix(end + 1);
    return host.empty() || (host.starts_with(':') && is_port(host.substr(1)));
  }
  if (const auto colon = host.find(':'); colon != std::string_view::npos) {
    if (!is_port(host.substr(colon + 1))) return false;
    host = host.substr(0, colon);
  }
  if (host.ends_with('.')) host.remove_suffix(1);
  const std::string name = lower_case(host);
  if (!is_host_name(name) || name.front() == '.') return false;
  if (is_address(AF_INET, name) || name.find('.') == std::string::npos) return true;
  const auto below = [&name](std::string_view suffix) { return name.ends_with(suffix); };
  if (std::any_of(kNeverPublic.begin(), kNeverPublic.end(), below)) return true;
  return std::any_of(names_.begin(), names_.end(),
                     [&](const std::string& known) { return known.starts_with('.') ? below(known) : name == known; });
}

bool is_host_name(std::string_view name) {
  const auto fine = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  };
  return !name.empty() && name != "." && name.size() <= 254 && std::all_of(name.begin(), name.end(), fine);
}

}  // namespace wattle::http
