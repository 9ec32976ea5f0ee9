#include "agent/finding.hpp"

namespace wattle::agent {

std::string Finding::text() const {
  std::string text = source + ": " + state() + ": " + why;
  if (!fix.empty()) text += " (" + fix + ")";
  return text;
}

Finding lost(std::string source, const Error& error, bool optional, std::string fix) {
  return {std::move(source), false, optional, error.subject + ": " + error.what,
          fix.empty() ? error.fix : std::move(fix)};
}

}  // namespace wattle::agent
