// magic_packet: the packet that a network card with Wake-on-LAN waits for.
// Source   AMD, Magic Packet Technology (publication 20213): six bytes 0xff, then the card's address sixteen times
// Errors   malformed: not the address of one card
// Threads  pure
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "common/result.hpp"

namespace wattle::controller::power {

using Mac = std::array<std::uint8_t, 6>;
using MagicPacket = std::array<std::uint8_t, 102>;

// Parses "52:54:00:12:34:56" or "52-54-00-12-34-56".
Result<Mac> parse_mac(const std::string& text);
MagicPacket magic_packet(const Mac& mac);

}  // namespace wattle::controller::power
