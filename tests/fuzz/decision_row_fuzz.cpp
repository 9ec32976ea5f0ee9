// Decision rows: any row parses as a decision with its ID or is refused, and a parsed one survives a round trip.
// Bytes: length of the body (2), body, rest.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "controller/decisions/decision_row.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wattle::controller;
  if (size < 2) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 2, size - 2);
  const std::size_t body = std::min<std::size_t>(text.size(), data[0] + 256U * data[1]);
  const DecisionRow row{17, 0, text.substr(0, body), text.substr(body)};
  const auto read = parse_decision(row);
  if (!read) {
    if (read.error().what.empty()) std::abort();
    return 0;
  }
  if (read->decision.id != row.id) std::abort();
  const DecisionRow again = decision_row(*read);
  const auto same = parse_decision(again);
  if (same && decision_row(*same) != again) std::abort();
  return 0;
}
