#include "cli/yaml.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "cli/view.hpp"
#include "common/printable.hpp"

namespace wattle::cli {

namespace {
// Words that some readers parse as a boolean or null.
constexpr std::array<std::string_view, 9> kWords{"null", "true", "false", "yes", "no", "on", "off", "y", "n"};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool is_plain(std::string_view text) {
  if (text.empty() || text.back() == ' ' || !(is_letter(text.front()) || text.front() == '/')) return false;
  const auto fine = [](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || std::string_view("_-./,() ").find(c) != std::string_view::npos;
  };
  if (!std::all_of(text.begin(), text.end(), fine)) return false;
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return std::find(kWords.begin(), kWords.end(), lower) == kWords.end();
}

std::string hex(char letter, char32_t value, int digits) {
  std::string text{'\\', letter};
  for (int i = digits - 1; i >= 0; --i) text += "0123456789abcdef"[(value >> (4 * static_cast<unsigned>(i))) & 0xFU];
  return text;
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const char32_t c = take_code_point(text);
    if (c == U'"' || c == U'\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c == U'\n') {
      out += "\\n";
    } else if (c == U'\t') {
      out += "\\t";
    } else if (c < 0xFF && !is_printable(c)) {
      out += hex('x', c, 2);
    } else if (c > 0xFFFF) {
      out += hex('U', c, 8);
    } else if (c >= 0xE000 || !is_printable(c)) {
      out += hex('u', c, 4);
    } else {
      append_utf8(out, c);
    }
  }
  return out + '"';
}

std::string scalar(const Json& value) {
  if (value.is_string()) return yaml_text(value.string());
  if (!value.is_number_float()) return value.dump();
  const double number = value.get<double>();
  if (std::isnan(number)) return ".nan";
  if (std::isinf(number)) return number > 0 ? ".inf" : "-.inf";
  // YAML 1.1 takes "1e-07" for a string: a float needs its point.
  std::string text = value.dump();
  if (const auto e = text.find('e'); e != std::string::npos && text.find('.') == std::string::npos)
    text.insert(e, ".0");
  return text;
}

bool is_block(const Json& value) { return (value.is_object() || value.is_array()) && !value.empty(); }

void write(std::string& out, const Json& value, std::size_t indent) {
  if (!is_block(value)) {
    out += scalar(value) + "\n";
    return;
  }
  bool first = true;
  const auto begin_line = [&] {
    if (!first) out += std::string(indent, ' ');
    first = false;
  };
  if (value.is_array()) {
    for (const Json& item : value) {
      begin_line();
      out += "- ";
      write(out, item, indent + 2);
    }
    return;
  }
  for (const auto& [key, item] : value.items()) {
    begin_line();
    out += yaml_text(key) + ":";
    if (is_block(item)) {
      out += "\n" + std::string(indent + 2, ' ');
      write(out, item, indent + 2);
    } else {
      out += " ";
      write(out, item, indent);
    }
  }
}
}  // namespace

std::string yaml_text(std::string_view text) { return is_plain(text) ? std::string(text) : quoted(text); }

std::string to_yaml(const Json& value) {
  std::string out;
  write(out, value, 0);
  return out;
}

}  // namespace wattle::cli
