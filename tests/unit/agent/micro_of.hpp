// micro_of: a number of a Prometheus page as whole millionths, exactly; "1.5" is 1,500,000.
// Errors   asserts on an invalid number
// Threads  pure
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/parse.hpp"

namespace wattle::agent::test {

inline std::uint64_t micro_of(const std::string& number) {
  const auto dot = number.find('.');
  std::uint64_t value = *parse::u64(std::string_view(number).substr(0, dot)) * 1'000'000;
  if (dot != std::string::npos) {
    std::string rest = number.substr(dot + 1);
    rest.resize(6, '0');
    value += *parse::u64(rest);
  }
  return value;
}

}  // namespace wattle::agent::test
