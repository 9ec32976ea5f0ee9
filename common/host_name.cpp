#include "common/host_name.hpp"

#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "common/parse.hpp"

namespace wattle {

std::string node_name_of(std::string_view host) {
  host = parse::trim(host);
  while (host.ends_with('.')) host.remove_suffix(1);
  std::string name(host);
  std::ranges::transform(name, name.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return name;
}

std::string host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? node_name_of(name.data()) : "";
}

}  // namespace wattle
