#include "common/printable.hpp"

#include <array>
#include <utility>

namespace wattle {

namespace {
constexpr char32_t kReplacement = 0xFFFD;
using Range = std::pair<char32_t, char32_t>;
constexpr std::array<Range, 4> kCombining{{{0x300, 0x36F}, {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF}, {0x20D0, 0x20FF}}};
constexpr std::array<Range, 32> kUnfit{{
    {0x00, 0x1F},       {0x7F, 0xA0},       {0xAD, 0xAD},      // control characters, blanks, soft hyphen
    {0x34F, 0x34F},     {0x600, 0x605},     {0x61C, 0x61C},    // joiners and marks of direction
    {0x6DD, 0x6DD},     {0x70F, 0x70F},     {0x890, 0x891},    // format characters of Arabic and Syriac
    {0x8E2, 0x8E2},     {0x115F, 0x1160},   {0x1680, 0x1680},  // fillers of Hangul, blanks
    {0x17B4, 0x17B5},   {0x180B, 0x180F},   {0x2000, 0x200F},  // blanks, zero width, marks of direction
    {0x2028, 0x202F},   {0x205F, 0x206F},   {0x2800, 0x2800},  // lines, embeddings, overrides, isolates
    {0x3000, 0x3000},   {0x3164, 0x3164},   {0xFDD0, 0xFDEF},  // blanks, fillers, noncharacters
    {0xFE00, 0xFE0F},                                          // variation selectors
    {0xFEFF, 0xFEFF},   {0xFFA0, 0xFFA0},   {0xFFF0, 0xFFFC},  // byte order mark, annotations
    {0xFFFE, 0xFFFF},   {0x110BD, 0x110BD}, {0x110CD, 0x110CD},  {0x13430, 0x1343F},
    {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A}, {0xE0000, 0x10FFFF},  // tags, private use: no defined appearance
}};
// East Asian Width W and F, and emoji, in whole blocks.
constexpr std::array<Range, 7> kWide{{{0x1100, 0x115F},
                                      {0x2E80, 0xA4CF},
                                      {0xAC00, 0xD7A3},
                                      {0xF900, 0xFAFF},
                                      {0xFF00, 0xFF60},
                                      {0x1F300, 0x1FAFF},
                                      {0x20000, 0x3FFFD}}};

template <std::size_t N>
bool within(const std::array<Range, N>& ranges, char32_t code_point) {
  for (const auto& [first, last] : ranges)
    if (code_point >= first && code_point <= last) return true;
  return false;
}
}  // namespace

char32_t take_code_point(std::string_view& text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  std::size_t length = 1;
  char32_t value = lead;
  if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4;
    value = lead & 0x07U;
  } else if (lead >= 0xE0 && lead < 0xF0) {
    length = 3;
    value = lead & 0x0FU;
  } else if (lead >= 0xC2 && lead < 0xE0) {
    length = 2;
    value = lead & 0x1FU;
  } else if (lead >= 0x80) {
    text.remove_prefix(1);
    return kReplacement;
  }
  for (std::size_t i = 1; i < length; ++i) {
    if (i >= text.size() || (byte(i) & 0xC0U) != 0x80) {
      text.remove_prefix(i);
      return kReplacement;
    }
    value = (value << 6U) | (byte(i) & 0x3FU);
  }
  text.remove_prefix(length);
  constexpr std::array<char32_t, 5> kLeast{0, 0, 0x80, 0x800, 0x10000};
  if (value < kLeast[length] || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) return kReplacement;
  return value;
}

void append_utf8(std::string& out, char32_t code_point) {
  const auto put = [&](char32_t bits) { out += static_cast<char>(static_cast<unsigned char>(bits)); };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xC0U | (code_point >> 6U));
    put(0x80U | (code_point & 0x3FU));
  } else if (code_point < 0x10000) {
    put(0xE0U | (code_point >> 12U));
    put(0x80U | ((code_point >> 6U) & 0x3FU));
    put(0x80U | (code_point & 0x3FU));
  } else {
    put(0xF0U | (code_point >> 18U));
    put(0x80U | ((code_point >> 12U) & 0x3FU));
    put(0x80U | ((code_point >> 6U) & 0x3FU));
    put(0x80U | (code_point & 0x3FU));
  }
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const char32_t code_point = take_code_point(text);
    if (within(kCombining, code_point)) continue;
    width += within(kWide, code_point) ? 2 : 1;
  }
  return width;
}

bool is_printable(char32_t code_point) { return code_point < 0x7F ? code_point >= 0x20 : !within(kUnfit, code_point); }

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const char32_t code_point = take_code_point(text);
    append_utf8(out, is_printable(code_point) ? code_point : U'?');
  }
  return out;
}

std::string printable_lines(std::string_view text) {
  std::string out;
  for (;;) {
    const auto end = text.find('\n');
    out += printable(text.substr(0, end));
    if (end == std::string_view::npos) return out;
    out += '\n';
    text.remove_prefix(end + 1);
  }
}

}  // namespace wattle
