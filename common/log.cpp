#include "common/log.hpp"

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <unistd.h>

#include "common/json/value.hpp"
#include "common/printable.hpp"

namespace wattle {

struct Log::Impl {
  std::string program;
  bool json;
  spdlog::logger logger;
};

namespace {
spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warn:
      return spdlog::level::warn;
    case LogLevel::error:
      return spdlog::level::err;
    case LogLevel::off:
      return spdlog::level::off;
  }
  return spdlog::level::info;
}

// Escapes newlines and unprintable characters, so that a peer's text stays on one line.
std::string one_line(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '\n' ? std::string("\\n") : std::string(1, c);
  return printable(out);
}

std::string as_text(std::string_view event, std::string_view message, std::initializer_list<LogField> fields) {
  std::string line = printable(event) + ": " + printable(message);
  for (const auto& field : fields) {
    line += "  ";
    line += field.key;
    line += '=';
    std::visit(
        [&](const auto& value) {
          using T = std::decay_t<decltype(value)>;
          if constexpr (std::is_same_v<T, std::string>) {
            const bool quote = value.empty() || value.find(' ') != std::string::npos;
            line += quote ? '"' + one_line(value) + '"' : one_line(value);
          } else if constexpr (std::is_same_v<T, bool>) {
            line += value ? "true" : "false";
          } else {
            line += fmt::format("{}", value);
          }
        },
        field.value);
  }
  return line;
}

std::string as_json(std::string_view program, LogLevel level, std::string_view event, std::string_view message,
                    std::initializer_list<LogField> fields) {
  static constexpr std::string_view kNames[] = {"debug", "info", "warn", "error", "off"};
  OrderedJson line;
  line["level"] = kNames[static_cast<int>(level)];
  line["program"] = program;
  line["event"] = event;
  line["message"] = message;
  for (const auto& field : fields)
    std::visit([&](const auto& value) { line[std::string(field.key)] = value; }, field.value);
  // Replaces invalid UTF-8 of a peer instead of throwing, and escapes everything outside ASCII, so that a peer's text
  // cannot change the reading direction of a log on a terminal.
  std::string text = line.dump(-1, JsonText::ascii);
  return text.substr(1);  // the pattern has already opened the object with the time
}
}  // namespace

Log::Log(std::string program, LogLevel level, LogFormat format) {
  const bool json = format == LogFormat::json || (format == LogFormat::automatic && ::isatty(STDERR_FILENO) == 0);
  auto sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  impl_ = std::make_unique<Impl>(Impl{std::move(program), json, spdlog::logger("wattle", std::move(sink))});
  impl_->logger.set_level(to_spdlog(level));
  impl_->logger.flush_on(spdlog::level::debug);
  if (json)
    impl_->logger.set_pattern("{\"time\":\"%Y-%m-%dT%H:%M:%S.%eZ\",%v", spdlog::pattern_time_type::utc);
  else
    impl_->logger.set_pattern("%H:%M:%S.%e %^%-5l%$ %v");
}

Log Log::silent() { return Log("", LogLevel::off, LogFormat::text); }

Log::Log(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Log::Log(Log&&) noexcept = default;
Log& Log::operator=(Log&&) noexcept = default;
Log::~Log() = default;

void Log::write(LogLevel level, std::string_view event, std::string_view message,
                std::initializer_list<LogField> fields) const {
  const auto to = to_spdlog(level);
  if (!impl_->logger.should_log(to)) return;
  const std::string line =
      impl_->json ? as_json(impl_->program, level, event, message, fields) : as_text(event, message, fields);
  impl_->logger.log(to, "{}", line);
}

void Log::debug(std::string_view event, std::string_view message, std::initializer_list<LogField> fields) const {
  write(LogLevel::debug, event, message, fields);
}
void Log::info(std::string_view event, std::string_view message, std::initializer_list<LogField> fields) const {
  write(LogLevel::info, event, message, fields);
}
void Log::warn(std::string_view event, std::string_view message, std::initializer_list<LogField> fields) const {
  write(LogLevel::warn, event, message, fields);
}
void Log::error(std::string_view event, std::string_view message, std::initializer_list<LogField> fields) const {
  write(LogLevel::error, event, message, fields);
}

Result<LogLevel> parse_log_level(std::string_view text) {
  if (text == "debug") return LogLevel::debug;
  if (text == "info") return LogLevel::info;
  if (text == "warn") return LogLevel::warn;
  if (text == "error") return LogLevel::error;
  if (text == "off") return LogLevel::off;
  return fail(Errc::malformed, "log level", "'" + std::string(text) + "' is unknown",
              "use debug, info, warn, error or off");
}

Result<LogFormat> parse_log_format(std::string_view text) {
  if (text == "auto") return LogFormat::automatic;
  if (text == "text") return LogFormat::text;
  if (text == "json") return LogFormat::json;
  return fail(Errc::malformed, "log format", "'" + std::string(text) + "' is unknown", "use auto, text or json");
}

}  // namespace wattle
