#include "controller/store/sums.hpp"

namespace wattle::controller {

std::string at_most(const std::string& sum) { return "min(" + std::to_string(kMostSum) + ", " + sum + ")"; }

// Sums two halves separately, so that neither can overflow.
std::string summed(const std::string& column) {
  return at_most("(min(" + std::to_string(kMostSum >> 32) + ", sum(" + column + " >> 32)) << 32) + sum(" + column +
                 " & 4294967295)");
}

std::string added(std::initializer_list<const char*> columns) {
  std::string out;
  for (const char* column : columns)
    out += (out.empty() ? "" : ", ") + std::string(column) + "=" + at_most(std::string(column) + "+excluded." + column);
  return out;
}

std::string ledger_added() { return added({"records", "energy_uj", "estimated_uj", "cpu_us"}); }

}  // namespace wattle::controller
