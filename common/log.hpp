// log: writes events with named fields: text on a terminal, otherwise one JSON object per line.
// Grammar  event    "component.event", stable: docs/reference/log-events.md lists it, and alerts may match it
//          message  a sentence about what happened, without values; it may change
//          fields   the values
// Source   spdlog; only log.cpp includes it
// Errors   none: a line that cannot be written is dropped
// Threads  any
//
// A function logs an error or returns it, never both (STYLE, rule 6).
#pragma once

#include <concepts>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "common/result.hpp"

namespace wattle {

enum class LogLevel { debug, info, warn, error, off };
enum class LogFormat { automatic, text, json };  // automatic: text if stderr is a terminal

struct LogField {
  using Value = std::variant<std::int64_t, double, bool, std::string>;
  std::string_view key;
  Value value;

  LogField(std::string_view k, bool v) : key(k), value(v) {}
  LogField(std::string_view k, std::integral auto v) : key(k), value(static_cast<std::int64_t>(v)) {}
  LogField(std::string_view k, double v) : key(k), value(v) {}
  LogField(std::string_view k, const char* v) : key(k), value(std::string(v)) {}
  LogField(std::string_view k, std::string_view v) : key(k), value(std::string(v)) {}
  LogField(std::string_view k, std::string v) : key(k), value(std::move(v)) {}
  LogField(std::string_view k, const Error& v) : key(k), value(v.message()) {}
};

class Log {
 public:
  // Writes to stderr. `program` names the process in every JSON line.
  Log(std::string program, LogLevel level, LogFormat format);
  // Discards everything; for tests.
  static Log silent();
  Log(Log&&) noexcept;
  Log& operator=(Log&&) noexcept;
  ~Log();

  void debug(std::string_view event, std::string_view message, std::initializer_list<LogField> fields = {}) const;
  void info(std::string_view event, std::string_view message, std::initializer_list<LogField> fields = {}) const;
  void warn(std::string_view event, std::string_view message, std::initializer_list<LogField> fields = {}) const;
  void error(std::string_view event, std::string_view message, std::initializer_list<LogField> fields = {}) const;

 private:
  struct Impl;
  explicit Log(std::unique_ptr<Impl> impl);
  void write(LogLevel level, std::string_view event, std::string_view message,
             std::initializer_list<LogField> fields) const;
  std::unique_ptr<Impl> impl_;
};

// "debug", "info", "warn", "error", "off"
Result<LogLevel> parse_log_level(std::string_view text);
// "auto", "text", "json"
Result<LogFormat> parse_log_format(std::string_view text);

}  // namespace wattle
