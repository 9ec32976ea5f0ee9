#include "agent/finding.hpp"

namespace wattle::agent {

std::string Finding::text() const {
  std::string text = source + ": " + state() + ": " + why;
  if (!mend.empty()) text += " (" + mend + ")";
  return text;
}

Finding lost(std::string source, const Error& error, bool optional, std::string mend) {
  return {std::move(source), false, optional, error.subject + ": " + error.what,
          mend.empty() ? error.mend : std::move(mend)};
}

}  // namespace wattle::agent
