#include "controller/power/magic_packet.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace wattle::controller::power;

TEST_CASE("a magic packet is six bytes 0xff and sixteen times the address") {
  const auto mac = parse_mac("52:54:00:12:34:5f");
  REQUIRE(mac);
  CHECK(*mac == Mac{0x52, 0x54, 0x00, 0x12, 0x34, 0x5f});
  const MagicPacket packet = magic_packet(*mac);
  CHECK(std::all_of(packet.begin(), packet.begin() + 6, [](auto byte) { return byte == 0xff; }));
  for (std::size_t copy = 0; copy < 16; ++copy)
    CHECK(std::equal(mac->begin(), mac->end(), packet.begin() + 6 + static_cast<std::ptrdiff_t>(6 * copy)));
}

TEST_CASE("a MAC address has six pairs of hexadecimal digits, between colons or dashes") {
  CHECK(parse_mac("52-54-00-12-34-5F"));
  for (const char* text : {"", "52:54:00:12:34", "52:54:00:12:34:5f:00", "52:54:00:12:34:5g", "52:54:00:12:34:5",
                           "52:54-00:12:34:5f", "0x5:54:00:12:34:5f", " 2:54:00:12:34:5f", "525400123456"}) {
    CAPTURE(text);
    const auto mac = parse_mac(text);
    REQUIRE_FALSE(mac);
    CHECK(mac.error().code == wattle::Errc::malformed);
  }
}

TEST_CASE("a multicast, broadcast or zero address wakes no node") {
  CHECK_FALSE(parse_mac("ff:ff:ff:ff:ff:ff"));
  CHECK_FALSE(parse_mac("01:00:5e:00:00:01"));
  CHECK_FALSE(parse_mac("00:00:00:00:00:00"));
}
