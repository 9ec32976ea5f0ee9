#include "agent/collect/probe_icmp.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <vector>

using namespace wattle::agent;

namespace {
// The reply of a host: the request with another type.
std::vector<std::uint8_t> reply_to(IpFamily family, const Echo& echo) {
  const EchoPacket request = echo_request(family, echo);
  std::vector<std::uint8_t> reply(request.begin(), request.end());
  reply[0] = family == IpFamily::v4 ? 0 : 129;
  if (family == IpFamily::v4) {  // the sum loses 8 in its high byte, so its complement gains it, with the carry around
    const unsigned sum = (unsigned{reply[2]} << 8 | reply[3]) + 0x0800U;
    const unsigned folded = (sum & 0xffff) + (sum >> 16);
    reply[2] = static_cast<std::uint8_t>(folded >> 8);
    reply[3] = static_cast<std::uint8_t>(folded);
  }
  return reply;
}

std::vector<std::uint8_t> below_ip(std::vector<std::uint8_t> packet, std::uint8_t words, std::uint8_t protocol) {
  std::vector<std::uint8_t> whole(std::size_t{words} * 4, 0);
  whole[0] = static_cast<std::uint8_t>(0x40 | words);
  whole[9] = protocol;
  whole.insert(whole.end(), packet.begin(), packet.end());
  return whole;
}
}  // namespace

TEST_CASE("a request has the bytes of RFC 792, with its checksum") {
  const auto packet = echo_request(IpFamily::v4, {0x1234, 1, 0});
  CHECK(packet[0] == 8);
  CHECK(packet[1] == 0);
  CHECK((unsigned{packet[2]} << 8 | packet[3]) == 0xffff - (0x0800 + 0x1234 + 0x0001));
  CHECK(packet[4] == 0x12);
  CHECK(packet[7] == 1);
  CHECK(echo_request(IpFamily::v6, {1, 1, 1})[0] == 128);
}

TEST_CASE("the reply to a request has the sent values") {
  CHECK(rc::check([](std::uint16_t identifier, std::uint16_t sequence, std::uint64_t token) {
    const Echo echo{identifier, sequence, token};
    RC_ASSERT(parse_echo_reply(IpFamily::v6, false, reply_to(IpFamily::v6, echo)) == echo);
    RC_ASSERT(parse_echo_reply(IpFamily::v4, false, reply_to(IpFamily::v4, echo)) == echo);
    RC_ASSERT(parse_echo_reply(IpFamily::v4, true, below_ip(reply_to(IpFamily::v4, echo), 6, 1)) == echo);
  }));
}

TEST_CASE("a truncated, damaged or other packet is not a reply") {
  const Echo echo{7, 8, 9};
  const auto good = reply_to(IpFamily::v4, echo);
  REQUIRE(parse_echo_reply(IpFamily::v4, false, good).has_value());
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    auto bad = good;
    bad[bit / 8] ^= static_cast<std::uint8_t>(1U << bit % 8);
    CHECK_FALSE(parse_echo_reply(IpFamily::v4, false, bad).has_value());
  }
  for (std::size_t size = 0; size < good.size(); ++size)
    CHECK_FALSE(parse_echo_reply(IpFamily::v4, false, std::span(good).first(size)).has_value());
  const auto request = echo_request(IpFamily::v4, echo);
  CHECK_FALSE(parse_echo_reply(IpFamily::v4, false, request).has_value());
  CHECK_FALSE(parse_echo_reply(IpFamily::v4, true, below_ip(good, 5, 17)).has_value());  // UDP
  CHECK_FALSE(parse_echo_reply(IpFamily::v4, true, below_ip(good, 4, 1)).has_value());   // shorter than a header
  CHECK_FALSE(parse_echo_reply(IpFamily::v4, true, good).has_value());
}
