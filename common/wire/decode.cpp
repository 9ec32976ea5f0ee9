#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "common/parse.hpp"
#include "common/wire/codec.hpp"
#include "common/wire/fields.hpp"
#include "common/wire/reader.hpp"
#include "common/wire/traits.hpp"

namespace wattle::wire {

namespace {

constexpr const char* kBehindItsEnd = "has bytes after its end";

// Number of enumerators of an enum on the wire; they start at 0.
template <class E>
constexpr unsigned enumerators() {
  if constexpr (std::is_same_v<E, EnergySource>) return 6;
  if constexpr (std::is_same_v<E, WorkloadKind>) return 4;
  if constexpr (std::is_same_v<E, ProbeKind>) return 3;
  return 0;
}

// Reads the fields of one message in order. The reader's problem() reports faults of the encoding itself.
class Decoder {
 public:
  Decoder(const char* root, Reader& reader, const Limits& limits) : reader_(reader), limits_(limits) { push({root}); }
  // Records where each element of the outermost array of records begins and ends.
  void note_records(std::string_view bytes, std::vector<std::string_view>& records) {
    bytes_ = bytes;
    records_ = &records;
  }

  // Reads the fields of an array of `size` elements, and skips fields that a newer peer appended.
  template <class T>
  void walk(std::uint32_t size, T& value) {
    const std::uint32_t saved = std::exchange(left_, size);
    wire::fields(*this, value);
    for (; left_ > 0 && !error_; --left_)
      if (!reader_.skip()) refuse(Errc::malformed, reader_.problem());
    left_ = saved;
    reader_.leave();
  }

  template <class T>
  void operator()(const char* name, T& value) {
    if (error_ || left_ == 0) return;  // a shorter, older message keeps the defaults
    --left_;
    push({name});
    take(value);
    pop();
  }

  const std::optional<Error>& error() const { return error_; }

 private:
  // Path of the current value, formatted only for an error.
  struct Step {
    const char* name = nullptr;  // field; null: an element
    std::uint32_t index = 0;
  };
  static constexpr std::size_t kMostSteps = 24;  // deepest nesting of fields and elements in any message
  static constexpr std::uint32_t kReserveAtOnce = 256;

  void push(Step step) {
    assert(steps_ < kMostSteps);
    path_[steps_++] = step;
  }
  void pop() { --steps_; }
  void refuse(Errc code, const char* what) {
    if (!error_) error_ = Error{code, path(), what, {}};
  }
  std::string path() const {
    std::string text;
    for (const Step& step : std::span(path_.data(), steps_)) {
      if (step.name == nullptr) {
        text += '[' + std::to_string(step.index) + ']';
      } else {
        text += text.empty() ? "" : ".";
        text += step.name;
      }
    }
    return text;
  }

  template <class T>
  void take(T& value) {
    if constexpr (is_optional<T>::value) {
      if (reader_.take_nil()) return value.reset();
      return take(value.emplace());
    } else {
      if constexpr (std::is_same_v<T, std::uint64_t>)
        if (reader_.take_positive(value)) return;
      if constexpr (std::is_same_v<T, double>)
        if (reader_.take_real(value)) return finite(value);
      Value found;
      if (!reader_.next(found)) return refuse(Errc::malformed, reader_.problem());
      put(found, value);
    }
  }

  void finite(double value) {
    if (!std::isfinite(value)) refuse(Errc::out_of_range, "is not finite");
  }

  template <class T>
  void put(const Value& found, T& value) {
    if constexpr (is_vector<T>::value) {
      if (found.type != ValueType::array) return refuse(Errc::malformed, "is not an array");
      elements(found.size, value);
    } else if constexpr (is_map<T>::value) {
      if (found.type != ValueType::map) return refuse(Errc::malformed, "is not a map");
      value.clear();
      for (std::uint32_t i = 0; i < found.size && !error_; ++i) {
        std::string key;
        take(key);
        if (!error_) take(value[key]);
      }
      reader_.leave();
    } else if constexpr (std::is_same_v<T, std::string>) {
      if (found.type != ValueType::text) return refuse(Errc::malformed, "is not a string");
      const bool body =
          steps_ == 2 && path_[1].name == std::string_view("body") && path_[0].name == std::string_view("reply");
      if (found.text.size() > (body ? limits_.body_bytes : limits_.text_bytes))
        return refuse(Errc::out_of_range, "is too long");
      if (!parse::is_utf8(found.text)) return refuse(Errc::malformed, "is not UTF-8");
      value = found.text;
    } else if constexpr (std::is_same_v<T, bool>) {
      if (found.type != ValueType::boolean) return refuse(Errc::malformed, "is not a boolean");
      value = found.boolean;
    } else if constexpr (std::is_enum_v<T>) {
      if (found.type != ValueType::positive) return refuse(Errc::malformed, "is not an integer");
      if (found.positive >= enumerators<T>()) return refuse(Errc::out_of_range, "is an unknown value");
      value = static_cast<T>(found.positive);
    } else if constexpr (std::is_same_v<T, double>) {
      if (found.type == ValueType::positive)
        value = static_cast<double>(found.positive);
      else if (found.type == ValueType::negative)
        value = static_cast<double>(found.negative);
      else if (found.type == ValueType::real)
        value = found.real;
      else
        return refuse(Errc::malformed, "is not a number");
      finite(value);
    } else if constexpr (std::is_same_v<T, std::uint64_t>) {
      if (found.type != ValueType::positive) return refuse(Errc::malformed, "is not an unsigned integer");
      value = found.positive;
    } else if constexpr (std::is_same_v<T, std::int64_t>) {
      if (found.type == ValueType::negative)
        value = found.negative;
      else if (found.type == ValueType::positive &&
               found.positive <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        value = static_cast<std::int64_t>(found.positive);
      else
        refuse(Errc::malformed, "is not an integer");
    } else {
      if (found.type != ValueType::array) return refuse(Errc::malformed, "is not an array of fields");
      walk(found.size, value);
    }
  }

  template <class T>
  void elements(std::uint32_t size, std::vector<T>& values) {
    values.clear();
    values.reserve(std::min(size, kReserveAtOnce));
    for (std::uint32_t i = 0; i < size && !error_; ++i) {
      const std::size_t begin = reader_.at();
      push({nullptr, i});
      take(values.emplace_back());
      pop();
      if constexpr (std::is_same_v<T, Record>)
        if (records_ != nullptr) records_->push_back(bytes_.substr(begin, reader_.at() - begin));
    }
    reader_.leave();
  }

  Reader& reader_;
  const Limits& limits_;
  std::string_view bytes_;
  std::vector<std::string_view>* records_ = nullptr;
  std::array<Step, kMostSteps> path_;
  std::size_t steps_ = 0;
  std::uint32_t left_ = 0;  // remaining fields of the current array
  std::optional<Error> error_;
};

// Bytes of a message, its reader after version and kind, and the number of fields that follow.
struct Opened {
  std::string_view bytes;
  Reader& reader;
  Kind kind;
  std::uint32_t fields;
  const Limits& limits;
  std::vector<std::string_view>* records;
};

template <class T>
Result<Message> decode_as(const Opened& opened) {
  T value;
  Decoder decoder(to_string(opened.kind).data(), opened.reader, opened.limits);
  if (opened.records != nullptr) decoder.note_records(opened.bytes, *opened.records);
  decoder.walk(opened.fields, value);
  if (const auto& error = decoder.error()) return tl::unexpected<Error>(*error);
  if (!opened.reader.at_end()) return fail(Errc::malformed, "message", kBehindItsEnd);
  return Message(std::move(value));
}

// Message lists its kinds in the order of Kind, from 1.
template <std::size_t... index>
Result<Message> decode_kind(const Opened& opened, std::index_sequence<index...>) {
  using Decode = Result<Message> (*)(const Opened&);
  constexpr Decode kDecoders[] = {decode_as<std::variant_alternative_t<index, Message>>...};
  const std::size_t at = static_cast<std::size_t>(opened.kind) - 1;
  if (at >= std::size(kDecoders)) return fail(Errc::unsupported, "message.kind", "is an unknown kind");
  return kDecoders[at](opened);
}

Result<Message> decode_any(std::string_view bytes, const Limits& limits, std::vector<std::string_view>* records) {
  Reader reader(bytes, limits);
  Value head, version, kind;
  if (!reader.next(head) || head.type != ValueType::array || head.size < 2 || !reader.next(version) ||
      !reader.next(kind))
    return fail(Errc::malformed, "message", "is not an array [version, kind, ...]");
  if (version.type != ValueType::positive || version.positive == 0)
    return fail(Errc::malformed, "message.version", "is not a positive integer");
  if (kind.type != ValueType::positive || kind.positive == 0 || kind.positive > 255)
    return fail(Errc::unsupported, "message.kind", "is an unknown kind");
  return decode_kind({bytes, reader, static_cast<Kind>(kind.positive), head.size - 2, limits, records},
                     std::make_index_sequence<std::variant_size_v<Message>>());
}

// Fault of the encoding itself, regardless of the message's meaning; null if there is none.
const char* problem_of(std::string_view bytes, const Limits& limits) {
  Reader reader(bytes, limits);
  if (!reader.skip()) return reader.problem();
  return reader.at_end() ? nullptr : kBehindItsEnd;
}

}  // namespace

Result<Message> decode(std::string_view bytes, const Limits& limits, std::vector<std::string_view>* records) {
  if (bytes.size() > limits.message_bytes)
    return fail(Errc::out_of_range, "message", std::to_string(bytes.size()) + " bytes exceed the limit");
  auto message = decode_any(bytes, limits, records);
  if (message) return message;
  // A fault of the encoding takes precedence over the message's.
  if (const char* problem = problem_of(bytes, limits)) return fail(Errc::malformed, "message", problem);
  return message;
}

std::optional<Head> peek(std::string_view bytes) {
  const Limits limits;
  Reader reader(bytes, limits);
  Value head, version, kind, first;
  if (!reader.next(head) || head.type != ValueType::array || head.size < 2 || !reader.next(version) ||
      !reader.next(kind) || kind.type != ValueType::positive || kind.positive > 255)
    return std::nullopt;
  const bool numbered = head.size > 2 && reader.next(first) && first.type == ValueType::positive;
  return Head{static_cast<Kind>(kind.positive), numbered ? first.positive : 0};
}

Result<Record> decode_record(std::string_view bytes, const Limits& limits) {
  Record record;
  Reader reader(bytes, limits);
  Decoder decoder("record", reader, limits);
  Value head;
  if (const char* problem = problem_of(bytes, limits)) return fail(Errc::malformed, "record", problem);
  if (!reader.next(head) || head.type != ValueType::array)
    return fail(Errc::malformed, "record", "is not an array of fields");
  decoder.walk(head.size, record);
  if (const auto& error = decoder.error()) return tl::unexpected<Error>(*error);
  return record;
}

}  // namespace wattle::wire
