// program_config: functions that the configurations of all programs share.
// Errors   those of common/config
// Threads  values
#pragma once

#include "common/config.hpp"
#include "common/log.hpp"

namespace wattle::config {

// Reads a program's configuration from a document that was loaded or parsed.
template <class Config>
Result<Config> read_with(Result<Config> (*read)(Document), Result<Document> document) {
  WATTLE_TRY(Document opened, std::move(document));
  return read(std::move(opened));
}

// Keys that `read` asks for, in order. `text` has the sections that are read only if they are present.
template <class Config>
std::vector<Key> keys_of(Result<Config> (*read)(Document), const std::string& text) {
  auto document = Document::parse(text, "keys");
  static_cast<void>(read(*document));
  return document->keys();
}

// Reads a value of an enum; `names` has a name for each value, in their order.
template <class Enum>
void read_enum(Section& section, std::string_view key, Enum& out, const std::vector<std::string_view>& names) {
  auto index = static_cast<std::size_t>(out);
  section.read_choice(key, index, names);
  out = static_cast<Enum>(index);
}

inline void read_log_level(Section& root, LogLevel& out) {
  Section log = root.section("log");
  read_enum(log, "level", out, {"debug", "info", "warn", "error", "off"});
}

}  // namespace wattle::config
