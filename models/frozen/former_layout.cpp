#include "models/frozen/former_layout.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <utility>

namespace wattle::models {

namespace {

bool is_shaped(const Tensor& tensor, std::size_t rows, std::size_t cols) {
  return tensor.shape.size() == 2 && tensor.shape[0] == static_cast<std::int64_t>(rows) &&
         tensor.shape[1] == static_cast<std::int64_t>(cols) && tensor.values.size() == rows * cols;
}

bool is_wide(const TensorSpec& spec) { return former_rows(spec) != spec.rows; }

struct Kind {
  const char* name;
  std::size_t former, now;
};
constexpr Kind kKinds[] = {{"node", kFormerNodeFeatures, kNodeFeatures},
                           {"pod", kFormerPodFeatures, kPodFeatures},
                           {"context", kFormerContextFeatures, kContextFeatures}};

}  // namespace

Tensor widened(const TensorSpec& spec, const Tensor& tensor) {
  if (!is_wide(spec) || !is_shaped(tensor, former_rows(spec), spec.cols)) return tensor;
  Tensor wide{{static_cast<std::int64_t>(spec.rows), static_cast<std::int64_t>(spec.cols)}, {}};
  wide.values.assign(spec.size(), 0.0F);
  const float* from = tensor.values.data();
  for (std::size_t row = 0; row < spec.rows; ++row) {
    if (is_new_input(spec.name, row)) continue;
    std::copy_n(from, spec.cols, &wide.values[row * spec.cols]);
    from += spec.cols;
  }
  return wide;
}

Weights narrowed(Weights weights) {
  for (const TensorSpec& spec : kLayout) {
    const auto found = weights.find(std::string(spec.name));
    if (!is_wide(spec) || found == weights.end() || !is_shaped(found->second, spec.rows, spec.cols)) continue;
    const std::vector<float>& all = found->second.values;
    Tensor narrow{{static_cast<std::int64_t>(former_rows(spec)), static_cast<std::int64_t>(spec.cols)}, {}};
    bool heard = false;
    for (std::size_t row = 0; row < spec.rows; ++row) {
      const auto begin = all.begin() + static_cast<std::ptrdiff_t>(row * spec.cols);
      const auto end = begin + static_cast<std::ptrdiff_t>(spec.cols);
      if (is_new_input(spec.name, row))
        heard =
            heard || std::any_of(begin, end, [](float weight) { return std::bit_cast<std::uint32_t>(weight) != 0; });
      else
        narrow.values.insert(narrow.values.end(), begin, end);
    }
    if (!heard) found->second = std::move(narrow);
  }
  return weights;
}

bool is_former_experience(const Weights& kept, std::string_view prefix, std::size_t nodes) {
  for (const Kind& kind : kKinds) {
    const auto found = kept.find(std::string(prefix) + kind.name);
    if (found == kept.end() || found->second.shape.size() != 2 || found->second.shape[0] < 0) return false;
    const std::size_t cols = kind.former * (kind.now == kNodeFeatures ? nodes : 1);
    if (!is_shaped(found->second, static_cast<std::size_t>(found->second.shape[0]), cols)) return false;
  }
  return true;
}

void widen_experience(Weights& kept, std::string_view prefix) {
  for (const Kind& kind : kKinds) {
    Tensor& tensor = kept.at(std::string(prefix) + kind.name);
    Tensor wide{tensor.shape, {}};
    wide.shape.back() =
        wide.shape.back() / static_cast<std::int64_t>(kind.former) * static_cast<std::int64_t>(kind.now);
    wide.values.assign(tensor.values.size() / kind.former * kind.now, 0.0F);
    for (std::size_t row = 0; row * kind.former < tensor.values.size(); ++row)
      std::copy_n(&tensor.values[row * kind.former], kind.former, &wide.values[row * kind.now]);
    tensor = std::move(wide);
  }
}

}  // namespace wattle::models
