// Writes JSON values as text, byte for byte like nlohmann's dump with the error handler `replace`. Uses nlohmann's
// escapes and its shortest form of a double.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "common/json/object.hpp"
#include "common/json/value.hpp"

namespace wattle {
namespace {

void append_text(std::string& out, std::string_view text, JsonText as) {
  const auto plain = [](char c) { return c >= 0x20 && c < 0x7F && c != '"' && c != '\\'; };
  if (std::all_of(text.begin(), text.end(), plain)) {
    out.append(1, '"').append(text).append(1, '"');
    return;
  }
  out +=
      nlohmann::json(std::string(text)).dump(-1, ' ', as == JsonText::ascii, nlohmann::json::error_handler_t::replace);
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
