// codec_limits: what the decoder refuses, byte by byte.
#include <doctest/doctest.h>

#include "common/wire/codec.hpp"

using namespace wattle;
using namespace wattle::wire;

namespace {
template <std::size_t N>
std::string raw(const char (&bytes)[N]) {
  return std::string(bytes, N - 1);
}

void check_refused(const std::string& bytes, Errc code, const std::string& subject, const std::string& what) {
  const auto message = decode(bytes);
  REQUIRE_FALSE(message);
  CHECK(message.error().code == code);
  CHECK(message.error().subject == subject);
  CHECK(message.error().what.find(what) != std::string::npos);
}

Refusal refusal_with(std::string subject) {
  Refusal refusal;
  refusal.subject = std::move(subject);
  return refusal;
}
}  // namespace

TEST_CASE("nesting is bounded, also in skipped fields") {
  // [1, ack, 0, 0, 0, {}, {}, 0, [], 0, [[[...]]]]: the message itself is one level.
  const std::string head = raw("\x9b\x01\x04\x00\x00\x00\x80\x80\x00\x90\x00");
  CHECK(decode(head + std::string(14, '\x91') + raw("\x90")));
  check_refused(head + std::string(15, '\x91') + raw("\x90"), Errc::malformed, "message", "nested too deep");
  check_refused(std::string(100'000, '\x91') + raw("\x00"), Errc::malformed, "message", "nested too deep");
}

TEST_CASE("the number of elements is bounded") {
  const Limits limits;
  Samples samples;
  Ask ask;
  ask.candidates.assign(limits.elements, "");
  CHECK(decode(encode(ask)));
  ask.candidates.emplace_back();
  check_refused(encode(ask), Errc::malformed, "message", "too many elements");
  check_refused(raw("\x93\x01\x03\xdd\xff\xff\xff\xff"), Errc::malformed, "message", "too many elements");
  check_refused(raw("\x93\x01\x03\xdc\x00\xff\x90"), Errc::malformed, "message", "more elements than bytes");
}

TEST_CASE("a text is bounded, and only a reply's body may be long") {
  const Limits limits;
  CHECK(decode(encode(refusal_with(std::string(limits.text_bytes, 'x')))));
  check_refused(encode(refusal_with(std::string(limits.text_bytes + 1, 'x'))), Errc::out_of_range, "refusal.subject",
                "too long");
  Reply reply;
  reply.body = std::string(100'000, 'x');
  CHECK(decode(encode(reply)));
  reply.error = std::string(limits.text_bytes + 1, 'x');
  check_refused(encode(reply), Errc::out_of_range, "reply.error", "too long");
}

TEST_CASE("a message is bounded") {
  Reply reply;
  reply.body = std::string(2 << 20, 'x');
  check_refused(encode(reply), Errc::out_of_range, "message",
                std::to_string(encode(reply).size()) + " bytes exceed the limit");
  Limits wide;
  wide.message_bytes = wide.body_bytes;
  CHECK(decode(encode(reply), wide));
}

TEST_CASE("a text that is not UTF-8 is refused") {
  for (const char* bad : {"\xff", "\xc0\xaf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xc3"})
    check_refused(encode(refusal_with(bad)), Errc::malformed, "refusal.subject", "not UTF-8");
  CHECK(decode(encode(refusal_with("\xE2\x82\xAC"))));
}

TEST_CASE("bytes after the message are refused") {
  check_refused(encode(Ack{1, 2, 3}) + '\0', Errc::malformed, "message", "after its end");
}

TEST_CASE("an unlisted enum value is refused") {
  Samples samples{{Record{}}};
  samples.records[0].node.energy_source = static_cast<EnergySource>(6);
  check_refused(encode(samples), Errc::out_of_range, "samples.records[0].node.energy_source", "an unknown value");
  samples = {{Record{}}};
  samples.records[0].workloads.resize(2);
  samples.records[0].workloads[1].kind = static_cast<WorkloadKind>(4);
  check_refused(encode(samples), Errc::out_of_range, "samples.records[0].workloads[1].kind", "an unknown value");
}

TEST_CASE("a value of another type is refused by its path") {
  // ack and ping, with one wrong value
  check_refused(raw("\x93\x01\x04\xff"), Errc::malformed, "ack.incarnation", "not an unsigned integer");
  check_refused(raw("\x94\x01\x04\x01\xa1x"), Errc::malformed, "ack.seq", "not an unsigned integer");
  check_refused(raw("\x93\x01\x04\xc0"), Errc::malformed, "ack.incarnation", "not an unsigned integer");
  check_refused(raw("\x94\x01\x05\x01\xcf\xff\xff\xff\xff\xff\xff\xff\xff"), Errc::malformed, "ping.mono_ns",
                "not an integer");
  check_refused(raw("\x93\x01\x03\x01"), Errc::malformed, "samples.records", "not an array");
  check_refused(raw("\x93\x01\x03\x91\x01"), Errc::malformed, "samples.records[0]", "not an array of fields");
  check_refused(raw("\x93\x01\x07\x01"), Errc::malformed, "refusal.subject", "not a string");
  check_refused(raw("\x95\x01\x0f\x01\xa1x\x90"), Errc::malformed, "query.arguments", "not a map");
  check_refused(raw("\x94\x01\x10\x01\x01"), Errc::malformed, "reply.ok", "not a boolean");
  check_refused(raw("\x93\x01\x07\xc4\x01x"), Errc::malformed, "message", "binary");
  check_refused(raw("\x93\x01\x07\xd4\x01x"), Errc::malformed, "message", "extension");
}

TEST_CASE("bytes that are not a message are refused") {
  check_refused("", Errc::malformed, "message", "");
  check_refused(raw("\x01"), Errc::malformed, "message", "not an array");
  check_refused(raw("\x90"), Errc::malformed, "message", "not an array");
  check_refused(raw("\x92\x00\x04"), Errc::malformed, "message.version", "positive");
  check_refused(raw("\x92\xff\x04"), Errc::malformed, "message.version", "positive");
  check_refused(raw("\x92\x01\x00"), Errc::unsupported, "message.kind", "an unknown kind");
  check_refused(raw("\x92\x01\x7f"), Errc::unsupported, "message.kind", "an unknown kind");
  check_refused(raw("\x92\x01\xcd\x01\x01"), Errc::unsupported, "message.kind", "an unknown kind");
}
