// codec: encodes messages as bytes and decodes them. msgpack arrays [version, kind, field, field, ...], with the fields
// in the order of fields.hpp.
// Source   msgpack-cxx encodes; only codec.cpp includes it. reader.hpp decodes in one pass, without the tree of objects
//          that msgpack-cxx would build: the tree took a third of a controller's time for each record
// Errors   malformed or out_of_range; the subject is the field's path, "samples.records[3].node.cpu_used_cores"
// Threads  pure functions
//
// Version rule: missing fields at the end of a message keep their defaults, unknown fields after the known ones are
// skipped, unknown kinds are refused. Always refused: depth, sizes and counts beyond Limits, NaN and infinite numbers,
// texts that are not UTF-8, enums out of range, trailing bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/outbox.hpp"
#include "common/result.hpp"
#include "common/wire/messages.hpp"

namespace wattle::wire {

struct Limits {
  std::size_t message_bytes = 1 << 20;
  std::size_t depth = 16;
  std::size_t text_bytes = 4096;      // per text, except Reply.body
  std::size_t body_bytes = 64 << 20;  // Reply.body
  std::size_t elements = 65536;       // per array or map
};

std::string encode(const Message& message);
// `records` receives the bytes of each record of Samples, as views into `bytes`, in order.
Result<Message> decode(std::string_view bytes, const Limits& limits = {},
                       std::vector<std::string_view>* records = nullptr);

// Kind of a message, read without decoding the rest; no value if it is not a message.
struct Head {
  Kind kind{};
  std::uint64_t first = 0;  // first field if it is a positive number: the request_id of Ask and Query
};
std::optional<Head> peek(std::string_view bytes);

// Encodes a record as it appears within Samples. A record of any version can be put into a message of another, because
// the version rule holds for each record by itself.
std::string encode_record(const Record& record);
// Returns the bytes of a Samples message of these records, without gaps.
std::string encode_samples(std::span<const EncodedRecord> records);
std::string encode_live(std::span<const EncodedRecord> records);
// Decodes a single record.
Result<Record> decode_record(std::string_view bytes, const Limits& limits = {});
// Maximum number of bytes around the records in either message.
inline constexpr std::size_t kSamplesHeadBytes = 16;

}  // namespace wattle::wire
