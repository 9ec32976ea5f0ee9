#include "controller/web/arguments.hpp"

#include "common/parse.hpp"

namespace wattle::controller {

std::string argument(const Arguments& arguments, const char* name, const std::string& otherwise) {
  const auto found = arguments.find(name);
  return found == arguments.end() ? otherwise : found->second;
}

Result<std::string> required(const Arguments& arguments, const char* name, const char* fix) {
  const auto found = arguments.find(name);
  if (found != arguments.end()) return found->second;
  return fail(Errc::malformed, std::string("argument ") + name, "is missing", fix);
}

Result<std::size_t> parse_limit(const Arguments& arguments, std::size_t otherwise) {
  const auto given = arguments.find("limit");
  if (given == arguments.end()) return otherwise;
  const auto value = parse::u64(given->second);
  if (!value || *value < 1 || *value > kMostHistory)
    return fail(Errc::malformed, "argument limit", "invalid value '" + given->second + "'",
                "use a number from 1 to " + std::to_string(kMostHistory));
  return *value;
}

Result<std::int64_t> parse_since(const Arguments& arguments, const std::string& otherwise, WallTime now) {
  const std::string text = argument(arguments, "since", otherwise);
  const auto span_s = parse::duration_s(text);
  constexpr double kMost_s = 100.0 * 366 * 86'400;
  if (!span_s || !(*span_s > 0) || *span_s > kMost_s)
    return fail(Errc::malformed, "argument since", "invalid value '" + text + "'",
                "use a duration, for example 90m, 24h or 7d");
  return to_ns(now) / 1'000'000'000 - static_cast<std::int64_t>(*span_s);
}

}  // namespace wattle::controller
