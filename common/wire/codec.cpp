#include "common/wire/codec.hpp"

#include <cassert>
#include <cmath>
#include <limits>
#include <msgpack.hpp>
#include <type_traits>

#include "common/parse.hpp"
#include "common/wire/fields.hpp"

namespace wattle::wire {

namespace {

template <class T>
struct is_optional : std::false_type {};
template <class T>
struct is_optional<std::optional<T>> : std::true_type {};
template <class T>
struct is_vector : std::false_type {};
template <class T>
struct is_vector<std::vector<T>> : std::true_type {};
template <class T>
struct is_map : std::false_type {};
template <class T>
struct is_map<std::map<std::string, T>> : std::true_type {};

// How many enumerators an enum on the wire has; they count from 0.
template <class E>
constexpr unsigned enumerators() {
  if constexpr (std::is_same_v<E, EnergySource>) return 6;
  if constexpr (std::is_same_v<E, WorkloadKind>) return 4;
  if constexpr (std::is_same_v<E, ProbeKind>) return 3;
  return 0;
}

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

// Walks the bytes without allocating. An array announces its size before its elements, so a few bytes could reserve
// gigabytes; each element takes at least one byte, hence all announced sizes together may not exceed the message.
class LimitVisitor : public msgpack::null_visitor {
 public:
  LimitVisitor(std::size_t bytes, const Limits& limits) : bytes_(bytes), limits_(limits) {}

  bool start_array(std::uint32_t size) { return container(size, size); }
  bool start_map(std::uint32_t size) { return container(size, 2 * static_cast<std::size_t>(size)); }
  bool end_array() { return leave(); }
  bool end_map() { return leave(); }
  bool visit_str(const char*, std::uint32_t size) { return size <= limits_.body_bytes || refuse("a text is too long"); }
  bool visit_bin(const char*, std::uint32_t) { return refuse("binary values are not used"); }
  bool visit_ext(const char*, std::uint32_t) { return refuse("extension values are not used"); }
  void parse_error(std::size_t, std::size_t) { refuse("no msgpack"); }
  void insufficient_bytes(std::size_t, std::size_t) { refuse("ends too early"); }
  const char* problem() const { return problem_; }

 private:
  bool container(std::size_t size, std::size_t elements) {
    announced_ += elements;
    if (size > limits_.elements) return refuse("an array or map has too many elements");
    if (announced_ > bytes_) return refuse("announces more elements than it has bytes");
    if (++depth_ > limits_.depth) return refuse("nested too deep");
    return true;
  }
  bool leave() {
    --depth_;
    return true;
  }
  bool refuse(const char* problem) {
    if (problem_ == nullptr) problem_ = problem;
    return false;
  }

  std::size_t bytes_;
  const Limits& limits_;
  std::size_t announced_ = 0;
  std::size_t depth_ = 0;
  const char* problem_ = nullptr;
};

class Decoder {
 public:
  Decoder(std::string_view root, const Limits& limits) : limits_(limits) { path_.push_back({root, 0}); }

  template <class T>
  void message(const msgpack::object_array& array, T& value) {
    walk(array, 2, value);
  }

  template <class T>
  void operator()(const char* name, T& value) {
    if (error_ || next_ >= size_) return;  // a shorter, older message keeps the defaults
    path_.push_back({name, 0});
    take(at_[next_++], value);
    path_.pop_back();
  }

  std::optional<Error> error() const { return error_; }

 private:
  template <class T>
  void walk(const msgpack::object_array& array, std::uint32_t first, T& value) {
    const auto* saved_at = at_;
    const auto saved_next = next_;
    const auto saved_size = size_;
    at_ = array.ptr;
    next_ = first;
    size_ = array.size;
    wire::fields(*this, value);
    at_ = saved_at;
    next_ = saved_next;
    size_ = saved_size;
  }

  void refuse(Errc code, const char* what) {
    if (!error_) error_ = Error{code, path(), what, {}};
  }
  std::string path() const {
    std::string text;
    for (const Step& step : path_) {
      if (step.name.empty()) {
        text += '[' + std::to_string(step.index) + ']';
      } else {
        text += text.empty() ? "" : ".";
        text += step.name;
      }
    }
    return text;
  }

  template <class T>
  void take(const msgpack::object& object, T& value) {
    using msgpack::type::object_type;
    if constexpr (is_optional<T>::value) {
      if (object.type == object_type::NIL) {
        value.reset();
      } else {
        typename T::value_type inner{};
        take(object, inner);
        value = std::move(inner);
      }
    } else if constexpr (is_vector<T>::value) {
      if (object.type != object_type::ARRAY) return refuse(Errc::malformed, "is not an array");
      value.clear();
      value.reserve(object.via.array.size);
      for (std::uint32_t i = 0; i < object.via.array.size && !error_; ++i) {
        path_.push_back({{}, i});
        value.emplace_back();
        take(object.via.array.ptr[i], value.back());
        path_.pop_back();
      }
    } else if constexpr (is_map<T>::value) {
      if (object.type != object_type::MAP) return refuse(Errc::malformed, "is not a map");
      value.clear();
      for (std::uint32_t i = 0; i < object.via.map.size && !error_; ++i) {
        std::string key;
        take(object.via.map.ptr[i].key, key);
        if (!error_) take(object.via.map.ptr[i].val, value[key]);
      }
    } else if constexpr (std::is_same_v<T, std::string>) {
      if (object.type != object_type::STR) return refuse(Errc::malformed, "is not a text");
      const std::string_view text(object.via.str.ptr, object.via.str.size);
      const bool body = path_.size() == 2 && path_[1].name == "body" && path_[0].name == "reply";
      if (text.size() > (body ? limits_.body_bytes : limits_.text_bytes))
        return refuse(Errc::out_of_range, "is too long");
      if (!parse::is_utf8(text)) return refuse(Errc::malformed, "is not UTF-8");
      value = text;
    } else if constexpr (std::is_same_v<T, bool>) {
      if (object.type != object_type::BOOLEAN) return refuse(Errc::malformed, "is not a boolean");
      value = object.via.boolean;
    } else if constexpr (std::is_enum_v<T>) {
      if (object.type != object_type::POSITIVE_INTEGER) return refuse(Errc::malformed, "is not an integer");
      if (object.via.u64 >= enumerators<T>()) return refuse(Errc::out_of_range, "is no known value");
      value = static_cast<T>(object.via.u64);
    } else if constexpr (std::is_same_v<T, double>) {
      if (object.type == object_type::POSITIVE_INTEGER)
        value = static_cast<double>(object.via.u64);
      else if (object.type == object_type::NEGATIVE_INTEGER)
        value = static_cast<double>(object.via.i64);
      else if (object.type == object_type::FLOAT64 || object.type == object_type::FLOAT32)
        value = object.via.f64;
      else
        return refuse(Errc::malformed, "is not a number");
      if (!std::isfinite(value)) refuse(Errc::out_of_range, "is not finite");
    } else if constexpr (std::is_same_v<T, std::uint64_t>) {
      if (object.type != object_type::POSITIVE_INTEGER) return refuse(Errc::malformed, "is not an unsigned integer");
      value = object.via.u64;
    } else if constexpr (std::is_same_v<T, std::int64_t>) {
      if (object.type == object_type::NEGATIVE_INTEGER)
        value = object.via.i64;
      else if (object.type == object_type::POSITIVE_INTEGER &&
               object.via.u64 <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        value = static_cast<std::int64_t>(object.via.u64);
      else
        refuse(Errc::malformed, "is not an integer");
    } else {
      if (object.type != object_type::ARRAY) return refuse(Errc::malformed, "is not an array of fields");
      walk(object.via.array, 0, value);
    }
  }

  // Where it is, put together as a text only for an error.
  struct Step {
    std::string_view name;  // of a field; empty: an element
    std::uint32_t index = 0;
  };
  std::vector<Step> path_;
  const Limits& limits_;
  const msgpack::object* at_ = nullptr;
  std::uint32_t next_ = 0;
  std::uint32_t size_ = 0;
  std::optional<Error> error_;
};

template <class T>
Result<Message> decode_as(const msgpack::object_array& array, Kind kind, const Limits& limits) {
  T value;
  Decoder decoder{to_string(kind), limits};
  decoder.message(array, value);
  if (const auto error = decoder.error()) return tl::unexpected<Error>(*error);
  return Message(std::move(value));
}

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
  Encoder(buffer).put(const_cast<Record&>(record));  // only reads, as above
  return {buffer.data(), buffer.size()};
}

std::string encode_samples(std::span<const EncodedRecord> records) {
  msgpack::sbuffer head(kSamplesHeadBytes);
  msgpack::packer<msgpack::sbuffer> packer(head);
  assert(count_fields<Samples>() == 2);
  packer.pack_array(2 + count_fields<Samples>());
  packer.pack_uint64(kVersionMax);
  packer.pack_uint8(static_cast<std::uint8_t>(Kind::samples));
  packer.pack_array(static_cast<std::uint32_t>(records.size()));
  std::size_t size = head.size();
  for (const EncodedRecord& record : records) size += record.bytes.size();
  std::string bytes;
  bytes.reserve(size + 1);
  bytes.append(head.data(), head.size());
  for (const EncodedRecord& record : records) bytes += record.bytes;
  bytes += '\x90';  // no gaps
  return bytes;
}

Result<Message> decode(std::string_view bytes, const Limits& limits) {
  if (bytes.size() > limits.message_bytes)
    return fail(Errc::out_of_range, "message", std::to_string(bytes.size()) + " bytes are too many");
  try {
    LimitVisitor visitor(bytes.size(), limits);
    std::size_t end = 0;
    const bool parsed = msgpack::parse(bytes.data(), bytes.size(), end, visitor);
    if (!parsed || visitor.problem() != nullptr)
      return fail(Errc::malformed, "message", visitor.problem() != nullptr ? visitor.problem() : "no msgpack");
    if (end != bytes.size()) return fail(Errc::malformed, "message", "has bytes behind its end");

    const msgpack::object_handle handle =
        msgpack::unpack(bytes.data(), bytes.size(), [](auto, auto, void*) { return true; });
    const msgpack::object& object = handle.get();
    if (object.type != msgpack::type::ARRAY || object.via.array.size < 2)
      return fail(Errc::malformed, "message", "is not an array [version, kind, ...]");
    const auto& array = object.via.array;
    if (array.ptr[0].type != msgpack::type::POSITIVE_INTEGER || array.ptr[0].via.u64 == 0)
      return fail(Errc::malformed, "message.version", "is not a positive integer");
    if (array.ptr[1].type != msgpack::type::POSITIVE_INTEGER || array.ptr[1].via.u64 == 0 || array.ptr[1].via.u64 > 255)
      return fail(Errc::unsupported, "message.kind", "is no known kind");
    const Kind kind = static_cast<Kind>(array.ptr[1].via.u64);
    switch (kind) {
      case Kind::hello:
        return decode_as<Hello>(array, kind, limits);
      case Kind::welcome:
        return decode_as<Welcome>(array, kind, limits);
      case Kind::samples:
        return decode_as<Samples>(array, kind, limits);
      case Kind::ack:
        return decode_as<Ack>(array, kind, limits);
      case Kind::ping:
        return decode_as<Ping>(array, kind, limits);
      case Kind::pong:
        return decode_as<Pong>(array, kind, limits);
      case Kind::refusal:
        return decode_as<Refusal>(array, kind, limits);
      case Kind::ask:
        return decode_as<Ask>(array, kind, limits);
      case Kind::suggestion:
        return decode_as<Suggestion>(array, kind, limits);
      case Kind::decision:
        return decode_as<Decision>(array, kind, limits);
      case Kind::placement:
        return decode_as<Placement>(array, kind, limits);
      case Kind::board:
        return decode_as<Board>(array, kind, limits);
      case Kind::state_change:
        return decode_as<StateChange>(array, kind, limits);
      case Kind::snapshot:
        return decode_as<Snapshot>(array, kind, limits);
      case Kind::query:
        return decode_as<Query>(array, kind, limits);
      case Kind::reply:
        return decode_as<Reply>(array, kind, limits);
    }
    return fail(Errc::unsupported, "message.kind", "is no known kind");
  } catch (const std::exception& error) {
    return fail(Errc::malformed, "message", error.what());
  }
}

}  // namespace wattle::wire
