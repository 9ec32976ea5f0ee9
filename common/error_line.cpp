#include "common/error_line.hpp"

#include "common/printable.hpp"

namespace wattle {

std::string error_text(const Error& error) {
  // The transport's errors about a link already name the endpoint.
  const bool named =
      error.subject.find("://") != std::string::npos && error.what.find(error.subject) != std::string::npos;
  std::string text = named ? std::string() : error.subject;
  if (!text.empty() && !error.what.empty()) text += ": ";
  text += error.what;
  if (!error.fix.empty()) text += " (" + error.fix + ")";
  return text;
}

std::string error_line(std::string_view program, std::string_view command, const Error& error) {
  std::string line(program);
  if (!command.empty()) line += ": " + std::string(command);
  return printable_lines(line + ": " + error_text(error));
}

}  // namespace wattle
