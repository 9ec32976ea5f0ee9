#include "common/wire/codec.hpp"

#include <cassert>
#include <msgpack.hpp>
#include <type_traits>

#include "common/wire/fields.hpp"
#include "common/wire/traits.hpp"

namespace wattle::wire {

namespace {

struct Count {
  std::uint32_t fields = 0;
  template <class T>
  void operator()(const char*, T&) {
    ++fields;
  }
};

template <class T>
std::uint32_t count_fields() {
  static const std::uint32_t count = [] {
    T value;
    Count counter;
    wire::fields(counter, value);
    return counter.fields;
  }();
  return count;
}

class Encoder {
 public:
  explicit Encoder(msgpack::sbuffer& buffer) : packer_(buffer) {}

  template <class T>
  void operator()(const char*, T& value) {
    put(value);
  }

  template <class T>
  void message(Kind kind, T& value) {
    packer_.pack_array(2 + count_fields<T>());
    packer_.pack_uint64(kVersionMax);
    packer_.pack_uint8(static_cast<std::uint8_t>(kind));
    wire::fields(*this, value);
  }

  template <class T>
  void put(T& value) {
    if constexpr (is_optional<T>::value) {
      if (value)
        put(*value);
      else
        packer_.pack_nil();
    } else if constexpr (is_vector<T>::value) {
      packer_.pack_array(static_cast<std::uint32_t>(value.size()));
      for (auto& item : value) put(item);
    } else if constexpr (is_map<T>::value) {
      packer_.pack_map(static_cast<std::uint32_t>(value.size()));
      for (auto& [key, item] : value) {
        packer_.pack(key);
        put(item);
      }
    } else if constexpr (std::is_enum_v<T>) {
      packer_.pack_uint8(static_cast<std::uint8_t>(value));
    } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
      packer_.pack(value);
    } else {
      packer_.pack_array(count_fields<T>());
      wire::fields(*this, value);
    }
  }

 private:
  msgpack::packer<msgpack::sbuffer> packer_;
};

}  // namespace

std::string encode(const Message& message) {
  msgpack::sbuffer buffer;
  Encoder encoder(buffer);
  const Kind kind = kind_of(message);
  // fields() takes a mutable reference because decode writes through it; encode only reads.
  std::visit([&](const auto& value) { encoder.message(kind, const_cast<std::decay_t<decltype(value)>&>(value)); },
             message);
  return {buffer.data(), buffer.size()};
}

std::string encode_record(const Record& record) {
  msgpack::sbuffer buffer;
  Encoder(buffer).put(const_cast<Record&>(record));  // only reads, see encode()
  return {buffer.data(), buffer.size()};
}

namespace {

// Builds a message whose first field is these records; `tail` has the bytes of its other fields.
template <class T>
std::string around(Kind kind, std::span<const EncodedRecord> records, std::string_view tail) {
  msgpack::sbuffer head(kSamplesHeadBytes);
  msgpack::packer<msgpack::sbuffer> packer(head);
  packer.pack_array(2 + count_fields<T>());
  packer.pack_uint64(kVersionMax);
  packer.pack_uint8(static_cast<std::uint8_t>(kind));
  packer.pack_array(static_cast<std::uint32_t>(records.size()));
  std::size_t size = head.size() + tail.size();
  for (const EncodedRecord& record : records) size += record.bytes.size();
  std::string bytes;
  bytes.reserve(size);
  bytes.append(head.data(), head.size());
  for (const EncodedRecord& record : records) bytes += record.bytes;
  bytes += tail;
  return bytes;
}

}  // namespace

std::string encode_samples(std::span<const EncodedRecord> records) {
  assert(count_fields<Samples>() == 2);
  return around<Samples>(Kind::samples, records, "\x90");  // no gaps
}

std::string encode_live(std::span<const EncodedRecord> records) {
  assert(count_fields<Live>() == 1);
  return around<Live>(Kind::live, records, {});
}

}  // namespace wattle::wire
