// codec: messages <-> bytes. msgpack arrays [version, kind, field, field, ...]; the order of fields is that of
// fields.hpp.
// Source   msgpack-cxx writes; its only home is codec.cpp. What arrives is read by reader.hpp, in one pass and without the tree of
//          objects that msgpack-cxx would build first: that took a third of a controller's time for each record
// Errors   malformed or out_of_range; the subject is the field's path, "samples.records[3].node.cpu_used_cores"
// Threads  pure functions
//
// Version rule: fields that a message lacks at its end keep their defaults, fields beyond the known are skipped,
// unknown kinds are refused. Refused always: depth, sizes and counts beyond Limits, NaN and infinite numbers, texts
// that are not UTF-8, enums out of range, bytes behind the message.
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
  std::size_t text_bytes = 4096;      // one text, except Reply.body
  std::size_t body_bytes = 64 << 20;  // Reply.body
  std::size_t elements = 65536;       // of one array or map
};

std::string encode(const Message& message);
// `records`: gets the bytes of each record of Samples, within `bytes`, in their order.
Result<Message> decode(std::string_view bytes, const Limits& limits = {},
                       std::vector<std::string_view>* records = nullptr);

// What a message says it is, without a look at the rest of it; absent: it is none.
struct Head {
  Kind kind{};
  std::uint64_t first = 0;  // its first field where that is a number above 0: the request_id of Ask and Query
};
std::optional<Head> peek(std::string_view bytes);

// A record as it stands within Samples. Whatever version wrote it, it may be put into a message of another: the version
// rule holds for each record by itself.
std::string encode_record(const Record& record);
// The bytes of Samples of these records, without gaps.
std::string encode_samples(std::span<const EncodedRecord> records);
std::string encode_live(std::span<const EncodedRecord> records);
// One record by itself.
Result<Record> decode_record(std::string_view bytes, const Limits& limits = {});
// What either puts around the records, at most.
inline constexpr std::size_t kSamplesHeadBytes = 16;

}  // namespace wattle::wire
