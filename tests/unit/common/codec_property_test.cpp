// Laws of the codec over messages of all kinds, and bytes that are no messages.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "any_message.hpp"
#include "common/wire/codec.hpp"

using namespace wattle;
using namespace wattle::wire;
using namespace wattle::wire::test;

namespace {
Message random_message() {
  const auto index = *rc::gen::inRange<std::size_t>(0, kKinds);
  return message_of(index, Drawing(*rc::gen::arbitrary<std::uint64_t>()));
}
}  // namespace

TEST_CASE("every message comes back as it went") {
  CHECK(rc::check([] {
    const Message message = random_message();
    const std::string bytes = encode(message);
    const auto back = decode(bytes);
    if (!back) RC_FAIL(back.error().message());
    RC_ASSERT(kind_of(*back) == kind_of(message));
    RC_ASSERT(encode(*back) == bytes);
  }));
}

TEST_CASE("a message that is cut short is refused at every length") {
  CHECK(rc::check([] {
    const std::string bytes = encode(random_message());
    const auto length = *rc::gen::inRange<std::size_t>(0, bytes.size());
    RC_ASSERT(!decode(bytes.substr(0, length)));
  }));
}

TEST_CASE("random bytes give a message or an error, never anything else") {
  CHECK(rc::check([](const std::string& bytes) {
    const auto message = decode(bytes);
    if (message) RC_ASSERT(decode(encode(*message)).has_value());
    if (!message) RC_ASSERT(!message.error().what.empty());
  }));
}

TEST_CASE("a message with changed bytes gives a message or an error that has a subject") {
  CHECK(rc::check([] {
    std::string bytes = encode(random_message());
    for (auto left = *rc::gen::inRange(1, 8); left > 0; --left)
      bytes[*rc::gen::inRange<std::size_t>(0, bytes.size())] = *rc::gen::arbitrary<char>();
    const auto message = decode(bytes);
    if (message) RC_ASSERT(decode(encode(*message)).has_value());
    if (!message) RC_ASSERT(!message.error().subject.empty());
  }));
}

TEST_CASE("fields beyond the known are skipped whatever they hold") {
  CHECK(rc::check([] {
    // [2, ack, 1, 2, 3, a whole other message]
    const std::string bytes = std::string("\x96\x02\x04\x01\x02\x03", 6) + encode(random_message());
    const auto message = decode(bytes);
    RC_ASSERT(message.has_value());
    RC_ASSERT(std::get<Ack>(*message).credit == 3U);
  }));
}
