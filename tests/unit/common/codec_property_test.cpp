// codec_property: properties of the codec over messages of all kinds, and over arbitrary bytes.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cmath>
#include <string_view>
#include <vector>

#include "any_message.hpp"
#include "common/wire/codec.hpp"
#include "common/wire/finite.hpp"

using namespace wattle;
using namespace wattle::wire;
using namespace wattle::wire::test;

namespace {
Message random_message() {
  const auto index = *rc::gen::inRange<std::size_t>(0, kKinds);
  return message_of(index, Drawing(*rc::gen::arbitrary<std::uint64_t>()));
}
}  // namespace

TEST_CASE("every message survives a round trip") {
  CHECK(rc::check([] {
    const Message message = random_message();
    const std::string bytes = encode(message);
    const auto back = decode(bytes);
    if (!back) RC_FAIL(back.error().message());
    RC_ASSERT(kind_of(*back) == kind_of(message));
    RC_ASSERT(encode(*back) == bytes);
  }));
}

TEST_CASE("records that are encoded one by one give the same Samples as those encoded together") {
  CHECK(rc::check([](std::uint64_t seed) {
    auto samples = std::get<Samples>(message_of(2, Drawing(seed)));
    samples.gaps.clear();
    std::vector<EncodedRecord> records;
    for (const Record& record : samples.records)
      records.push_back({{record.incarnation, record.seq}, encode_record(record)});
    const std::string bytes = encode_samples(records);
    RC_ASSERT(bytes == encode(samples));
    std::size_t body = 0;
    for (const EncodedRecord& record : records) body += record.bytes.size();
    RC_ASSERT(bytes.size() <= body + kSamplesHeadBytes);
    std::vector<std::string_view> split;
    RC_ASSERT(decode(bytes, {}, &split).has_value());
    RC_ASSERT(split.size() == records.size());
    for (std::size_t i = 0; i < records.size(); ++i) {
      RC_ASSERT(split[i] == records[i].bytes);
      RC_ASSERT(encode_record(decode_record(split[i]).value()) == records[i].bytes);
    }
  }));
}

TEST_CASE("a record with arbitrary numbers is readable by a controller once non-finite ones are omitted") {
  CHECK(rc::check([](std::uint64_t seed) {
    auto samples = std::get<Samples>(message_of(2, Drawing(seed)));
    RC_PRE(!samples.records.empty());
    Record& record = samples.records.front();
    const std::string before = encode_record(record);
    RC_ASSERT(make_finite(record) == 0);
    RC_ASSERT(encode_record(record) == before);
    const double bad = *rc::gen::element(std::nan(""), HUGE_VAL, -HUGE_VAL);
    record.node.cpu_used_cores = bad;
    record.workloads.resize(1);
    record.workloads[0].kernel.tcp_srtt_us = bad;
    record.node.sockets = {SocketValues{.package_c_state_ratios = {0.5, bad}}};
    record.probes.resize(1);
    record.probes[0].loss_ratio = bad;
    RC_ASSERT(!decode_record(encode_record(record)).has_value());
    RC_ASSERT(make_finite(record) == 4);
    const auto back = decode_record(encode_record(record));
    RC_ASSERT(back.has_value());
    RC_ASSERT(!back->node.cpu_used_cores.has_value());
    RC_ASSERT(back->node.sockets[0].package_c_state_ratios == std::vector<double>({0.5, 0.0}));
  }));
}

TEST_CASE("damaged Samples are refused, or the bytes of each record decode to that record") {
  CHECK(rc::check([](std::uint64_t seed) {
    std::string bytes = encode(message_of(2, Drawing(seed)));
    const auto at = *rc::gen::inRange<std::size_t>(0, bytes.size());
    bytes[at] = *rc::gen::arbitrary<char>();
    bytes.resize(*rc::gen::inRange<std::size_t>(at, bytes.size() + 1));
    std::vector<std::string_view> split;
    const auto message = decode(bytes, {}, &split);
    const auto* samples = message ? std::get_if<Samples>(&*message) : nullptr;
    if (samples == nullptr) return;
    RC_ASSERT(split.size() == samples->records.size());
    for (std::size_t i = 0; i < split.size(); ++i)
      RC_ASSERT(encode_record(decode_record(split[i]).value()) == encode_record(samples->records[i]));
  }));
}

TEST_CASE("a truncated message is refused at every length") {
  CHECK(rc::check([] {
    const std::string bytes = encode(random_message());
    const auto length = *rc::gen::inRange<std::size_t>(0, bytes.size());
    RC_ASSERT(!decode(bytes.substr(0, length)));
  }));
}

TEST_CASE("random bytes give a message or an error") {
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

TEST_CASE("unknown fields are skipped, whatever they contain") {
  CHECK(rc::check([] {
    // [2, ack, 1, 2, 3, {}, {}, 0, [], 0, a whole other message]
    const std::string bytes =
        std::string("\x9b\x02\x04\x01\x02\x03\x80\x80\x00\x90\x00", 11) + encode(random_message());
    const auto message = decode(bytes);
    RC_ASSERT(message.has_value());
    RC_ASSERT(std::get<Ack>(*message).credit == 3U);
  }));
}
