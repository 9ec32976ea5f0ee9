// Writes JSON values as text, byte for byte like nlohmann's dump with the error handler `replace`. Uses nlohmann's
// shortest form of a double.
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "common/json/object.hpp"
#include "common/json/value.hpp"

namespace wattle {
namespace {

constexpr std::uint32_t kReplacement = 0xFFFD;
constexpr std::string_view kHex = "0123456789abcdef";

void append_unit(std::string& out, std::uint32_t unit) {
  out += "\\u";
  for (const int shift : {12, 8, 4, 0}) out += kHex[(unit >> shift) & 0xFU];
}

void append_escaped(std::string& out, std::uint32_t point) {
  if (point <= 0xFFFF) return append_unit(out, point);
  append_unit(out, 0xD7C0U + (point >> 10U));
  append_unit(out, 0xDC00U + (point & 0x3FFU));
}

struct Decoded {
  std::size_t bytes = 0;  // length of the character or of the invalid sequence
  std::uint32_t point = 0;
  bool valid = false;
};

// Decodes the character at `at`, which is not ASCII. In invalid UTF-8, covers the longest part that could begin a
// character.
Decoded decode(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t lead = byte(at);
  std::size_t more = 0;
  std::uint8_t low = 0x80, high = 0xBF;
  if (lead >= 0xC2 && lead <= 0xDF) {
    more = 1;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    more = 2;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    more = 3;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
  } else {
    return {1, 0, false};
  }
  std::uint32_t point = lead & (0x3FU >> more);
  for (std::size_t i = 1; i <= more; ++i) {
    if (at + i == text.size() || byte(at + i) < low || byte(at + i) > high) return {i, 0, false};
    point = (point << 6U) | (byte(at + i) & 0x3FU);
    low = 0x80, high = 0xBF;
  }
  return {more + 1, point, true};
}

void append_text(std::string& out, std::string_view text, JsonText as) {
  out += '"';
  std::size_t plain = 0;  // start of the text to copy unchanged
  for (std::size_t at = 0; at < text.size();) {
    const auto letter = static_cast<std::uint8_t>(text[at]);
    if (letter >= 0x20 && letter < 0x7F && letter != '"' && letter != '\\') {
      ++at;
      continue;
    }
    const Decoded found = letter < 0x80 ? Decoded{1, letter, true} : decode(text, at);
    if (found.valid && found.point >= 0x7F && as == JsonText::utf8) {
      at += found.bytes;
      continue;
    }
    out.append(text.substr(plain, at - plain));
    at += found.bytes;
    plain = at;
    if (!found.valid) {
      if (as == JsonText::ascii)
        append_unit(out, kReplacement);
      else
        out += "\xEF\xBF\xBD";
      continue;
    }
    constexpr std::string_view kShort = "\b\t\n\f\r\"\\", kLetters = "btnfr\"\\";
    const auto known = found.point < 0x80 ? kShort.find(static_cast<char>(found.point)) : kShort.npos;
    if (known != kShort.npos)
      out.append({'\\', kLetters[known]});
    else
      append_escaped(out, found.point);
  }
  out.append(text.substr(plain));
  out += '"';
}

template <class T>
void append_whole(std::string& out, T value) {
  std::array<char, 24> digits;
  out.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr);
}

void append_real(std::string& out, double value) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  std::array<char, 64> digits;
  out.append(digits.data(), nlohmann::detail::to_chars(digits.data(), digits.data() + digits.size(), value));
}

void new_line(std::string& out, int indent, std::size_t spaces) {
  if (indent < 0) return;
  out += '\n';
  out.append(spaces, ' ');
}

}  // namespace

template <JsonOrder order>
void BasicJson<order>::write(std::string& out, int indent, std::size_t spaces, JsonText text) const {
  const std::size_t inner = spaces + static_cast<std::size_t>(std::max(indent, 0));
  switch (kind_) {
    case JsonKind::null:
      out += "null";
      return;
    case JsonKind::discarded:
      out += "<discarded>";
      return;
    case JsonKind::boolean:
      out += natural_ != 0 ? "true" : "false";
      return;
    case JsonKind::integer:
      return append_whole(out, integer_);
    case JsonKind::natural:
      return append_whole(out, natural_);
    case JsonKind::real:
      return append_real(out, real_);
    case JsonKind::string:
      return append_text(out, *string_, text);
    case JsonKind::array:
      out += '[';
      for (const BasicJson& each : *array_) {
        if (&each != array_->data()) out += ',';
        new_line(out, indent, inner);
        each.write(out, indent, inner, text);
      }
      if (!array_->empty()) new_line(out, indent, spaces);
      out += ']';
      return;
    case JsonKind::object:
      out += '{';
      for (const Member* each : object_->members) {
        if (each != object_->members.front()) out += ',';
        new_line(out, indent, inner);
        append_text(out, each->key, text);
        out += indent >= 0 ? ": " : ":";
        each->value.write(out, indent, inner, text);
      }
      if (!object_->members.empty()) new_line(out, indent, spaces);
      out += '}';
      return;
  }
}

template <JsonOrder order>
std::string BasicJson<order>::dump(int indent, JsonText text) const {
  std::string out;
  write(out, indent, 0, text);
  return out;
}

template class BasicJson<JsonOrder::sorted>;
template class BasicJson<JsonOrder::added>;

}  // namespace wattle
