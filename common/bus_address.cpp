#include "common/bus_address.hpp"

#include <cctype>
#include <string_view>

namespace wattle {

std::string bus_address(const std::string& socket_path) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out = "unix:path=";
  for (const char c : socket_path) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || std::string_view("-_/.").find(c) != std::string_view::npos)
      out += c;
    else
      out += std::string("%") + kDigits[byte / 16U] + kDigits[byte % 16U];
  }
  return out;
}

}  // namespace wattle
