#include "common/wire/finite.hpp"

#include <cmath>
#include <optional>
#include <type_traits>

#include "common/wire/fields.hpp"

namespace wattle::wire {
namespace {

struct Finite {
  std::size_t fixed = 0;

  template <class T>
  void operator()(const char*, T& value) {
    fix(value);
  }
  void fix(double& value) {
    if (std::isfinite(value)) return;
    value = 0;
    ++fixed;
  }
  void fix(std::optional<double>& value) {
    if (!value || std::isfinite(*value)) return;
    value.reset();
    ++fixed;
  }
  template <class T>
  void fix(std::vector<T>& values) {
    for (T& value : values) fix(value);
  }
  template <class T>
  void fix(T& value) {
    if constexpr (std::is_class_v<T> && requires(Finite & self) { wire::fields(self, value); })
      wire::fields(*this, value);
  }
};

}  // namespace

std::size_t make_finite(Record& record) {
  Finite finite;
  wire::fields(finite, record);
  return finite.fixed;
}

std::size_t make_finite(std::vector<ProbeValues>& probes) {
  Finite finite;
  finite.fix(probes);
  return finite.fixed;
}

}  // namespace wattle::wire
