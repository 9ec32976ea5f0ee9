#include "controller/power/magic_packet.hpp"

#include <algorithm>
#include <vector>

#include "common/parse.hpp"

namespace wattle::controller::power {

Result<Mac> parse_mac(const std::string& text) {
  const std::string example = "for example 52:54:00:12:34:56";
  const char between = text.find('-') != std::string::npos ? '-' : ':';
  const std::vector<std::string_view> parts = parse::split(text, between);
  Mac mac{};
  bool good = parts.size() == mac.size();
  for (std::size_t i = 0; good && i < mac.size(); ++i) {
    const auto byte = parse::integer<std::uint8_t>(parts[i], 16);
    good = byte && parts[i].size() == 2;
    if (good) mac[i] = *byte;
  }
  if (!good) return fail(Errc::malformed, text, "is not a MAC address", example);
  if ((mac[0] & 1U) != 0 || mac == Mac{})
    return fail(Errc::malformed, text, "is not the address of one network card", example);
  return mac;
}

MagicPacket magic_packet(const Mac& mac) {
  MagicPacket packet{};
  auto at = std::fill_n(packet.begin(), 6, std::uint8_t{0xff});
  while (at != packet.end()) at = std::copy(mac.begin(), mac.end(), at);
  return packet;
}

}  // namespace wattle::controller::power
