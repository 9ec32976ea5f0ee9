// completion_places: the commands of a program by the words that lead to them, for shells that need tables.
// Errors   none
// Threads  any
#pragma once

#include <string>
#include <vector>

#include "common/cmdline/outline.hpp"

namespace wattle::cmdline {

struct Place {
  std::string path;  // " keys new"; empty for the program itself
  const Outline* at;
};

inline void add_places(std::vector<Place>& out, const Outline& at, const std::string& path) {
  out.push_back({path, &at});
  for (const Outline& each : at.commands) add_places(out, each, path + " " + each.name);
}

inline std::vector<Place> places_of(const Outline& program) {
  std::vector<Place> out;
  add_places(out, program, "");
  return out;
}

// Returns the operand that takes the nth word (from 0) after the command; null if there is none.
inline const Parameter* operand_at(const Outline& command, std::size_t nth) {
  for (const Parameter& each : command.operands) {
    if (each.endless || nth < each.most) return &each;
    nth -= each.most;
  }
  return nullptr;
}

// Number of words until the last operand is full; an endless operand counts as one.
inline std::size_t operand_words(const Outline& command) {
  std::size_t out = 0;
  for (const Parameter& each : command.operands) out += each.endless ? 1 : each.most;
  return out;
}

inline std::string spaced(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

// Quotes the text as one shell word.
inline std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace wattle::cmdline
