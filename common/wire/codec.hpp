// codec: messages <-> bytes. msgpack arrays [version, kind, field, field, ...]; the order of fields is that of
// fields.hpp.
// Source   msgpack-cxx; its only home is codec.cpp
// Errors   malformed or out_of_range; the subject is the field's path, "samples.records[3].node.cpu_used_cores"
// Threads  pure functions
//
// Version rule: fields that a message lacks at its end keep their defaults, fields beyond the known are skipped,
// unknown kinds are refused. Refused always: depth, sizes and counts beyond Limits, NaN and infinite numbers, texts
// that are not UTF-8, enums out of range, bytes behind the message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

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
Result<Message> decode(std::string_view bytes, const Limits& limits = {});

}  // namespace wattle::wire
