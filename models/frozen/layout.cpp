#include "models/frozen/layout.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <random>

namespace wattle::models {

namespace {

std::vector<std::int64_t> shape_of(const TensorSpec& spec) {
  if (spec.rows == 0) return {static_cast<std::int64_t>(spec.cols)};
  return {static_cast<std::int64_t>(spec.rows), static_cast<std::int64_t>(spec.cols)};
}

std::string text_of(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (const std::int64_t size : shape) text += (text.size() > 1 ? "," : "") + std::to_string(size);
  return text + "]";
}

constexpr const char* kFix = "check that this version wrote it";

}  // namespace

Result<AlignedFloats> flatten(const Weights& weights, const std::string& subject, std::string_view prefix) {
  AlignedFloats flat;
  flat.reserve(kParameters);
  for (const TensorSpec& spec : kLayout) {
    const std::string name = std::string(prefix) + std::string(spec.name);
    const auto found = weights.find(name);
    if (found == weights.end()) return fail(Errc::malformed, subject, "tensor " + name + " is missing", kFix);
    const Tensor& tensor = found->second;
    const auto shape = shape_of(spec);
    if (tensor.shape != shape || tensor.values.size() != spec.size())
      return fail(Errc::malformed, subject,
                  "tensor " + name + " has shape " + text_of(tensor.shape) + ", not " + text_of(shape), kFix);
    if (!std::all_of(tensor.values.begin(), tensor.values.end(), [](float v) { return std::isfinite(v); }))
      return fail(Errc::malformed, subject, "tensor " + name + " has a value that is not finite");
    flat.insert(flat.end(), tensor.values.begin(), tensor.values.end());
  }
  for (const auto& [name, tensor] : weights) {
    if (!name.starts_with(prefix)) continue;
    const std::string_view own = std::string_view(name).substr(prefix.size());
    if (std::none_of(kLayout.begin(), kLayout.end(), [&](const TensorSpec& spec) { return spec.name == own; }))
      return fail(Errc::malformed, subject, "tensor " + name + " is unknown", kFix);
  }
  return flat;
}

void unflatten(std::span<const float> flat, std::string_view prefix, Weights& weights) {
  assert(flat.size() == kParameters);
  for (const TensorSpec& spec : kLayout) {
    const auto values = flat.first(spec.size());
    weights[std::string(prefix) + std::string(spec.name)] = {shape_of(spec), {values.begin(), values.end()}};
    flat = flat.subspan(spec.size());
  }
}

Weights initial_weights(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  AlignedFloats flat(kParameters, 0.0F);
  float* at = flat.data();
  std::size_t inputs = 0;
  for (const TensorSpec& spec : kLayout) {
    if (spec.rows != 0) inputs = spec.rows;
    // Advantage and its shared part are one layer in two parts.
    if (spec.name.starts_with("advantage.")) inputs = kHidden + kShared;
    const bool output = spec.name.find(".out.") != std::string_view::npos;
    const double bound = output ? 0.0 : 1.0 / std::sqrt(static_cast<double>(inputs));
    for (std::size_t i = 0; i < spec.size(); ++i) {
      // Converts 53 bits to [0, 1), because std::uniform_real_distribution differs between libraries.
      const double unit = static_cast<double>(random() >> 11U) * 0x1p-53;
      *at++ = static_cast<float>((2 * unit - 1) * bound);
    }
  }
  Weights weights;
  unflatten(flat, {}, weights);
  return weights;
}

}  // namespace wattle::models
