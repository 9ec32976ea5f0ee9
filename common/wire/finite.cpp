#include "common/wire/finite.hpp"

#include <cmath>
#include <optional>
#include <type_traits>
#include <vector>

#include "common/wire/fields.hpp"

namespace wattle::wire {
namespace {

struct Finite {
  std::size_t mended = 0;

  template <class T>
  void operator()(const char*, T& value) {
    mend(value);
  }
  void mend(double& value) {
    if (std::isfinite(value)) return;
    value = 0;
    ++mended;
  }
  void mend(std::optional<double>& value) {
    if (!value || std::isfinite(*value)) return;
    value.reset();
    ++mended;
  }
  template <class T>
  void mend(std::vector<T>& values) {
    for (T& value : values) mend(value);
  }
  template <class T>
  void mend(T& value) {
    if constexpr (std::is_class_v<T> && requires(Finite & self) { wire::fields(self, value); })
      wire::fields(*this, value);
  }
};

}  // namespace

std::size_t make_finite(Record& record) {
  Finite finite;
  wire::fields(finite, record);
  return finite.mended;
}

std::size_t make_finite(std::vector<ProbeValues>& probes) {
  Finite finite;
  finite.mend(probes);
  return finite.mended;
}

}  // namespace wattle::wire
