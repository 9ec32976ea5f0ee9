#include "common/kube/timestamp.hpp"

#include <ctime>

namespace wattle::kube {

std::int64_t parse_time_s(const std::string& text) {
  std::tm at{};
  const char* end = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%SZ", &at);
  return end == nullptr || *end != '\0' ? 0 : ::timegm(&at);
}

}  // namespace wattle::kube
