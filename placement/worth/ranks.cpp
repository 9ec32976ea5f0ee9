#include "placement/worth/ranks.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace wattle::placement {

namespace {

constexpr std::size_t kComparedAtMost = 200;
constexpr std::size_t kDigits = 3, kDigitBits = 11, kBuckets = 1U << kDigitBits;

struct Keyed {
  std::uint32_t key = 0;
  std::uint32_t index = 0;
};

// Ascends with the value; 0 and -0 have the same key.
std::uint32_t key_of(double value) {
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value) + 0.0F);
  constexpr std::uint32_t kSign = std::uint32_t{1} << 31U;
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}

std::size_t digit(std::uint32_t key, std::size_t which) { return (key >> (kDigitBits * which)) & (kBuckets - 1); }

bool below(const Keyed& a, const Keyed& b) { return a.key < b.key; }

// Least significant digit first; a digit that all keys share is skipped.
void radix_sort(std::vector<Keyed>& items) {
  std::array<std::array<std::uint32_t, kBuckets>, kDigits> counts{};
  for (const Keyed& item : items)
    for (std::size_t d = 0; d < kDigits; ++d) ++counts[d][digit(item.key, d)];
  std::vector<Keyed> other(items.size());
  for (std::size_t d = 0; d < kDigits; ++d) {
    std::array<std::uint32_t, kBuckets>& place = counts[d];
    if (place[digit(items.front().key, d)] == items.size()) continue;
    std::uint32_t next = 0;
    for (std::uint32_t& each : place) {
      const std::uint32_t here = each;
      each = next;
      next += here;
    }
    for (const Keyed& item : items) other[place[digit(item.key, d)]++] = item;
    items.swap(other);
  }
}

std::vector<Keyed> keyed(std::span<const double> values) {
  std::vector<Keyed> items(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) items[i] = {key_of(values[i]), static_cast<std::uint32_t>(i)};
  return items;
}

}  // namespace

std::vector<float> mean_ranks(std::span<const double> values) {
  const std::size_t count = values.size();
  std::vector<float> ranks(count, 0.0F);
  if (count < 2) return ranks;
  std::vector<Keyed> items = keyed(values);
  if (count <= kComparedAtMost) {
    std::sort(items.begin(), items.end(), below);
  } else {
    radix_sort(items);
  }
  for (std::size_t first = 0; first < count;) {
    std::size_t last = first + 1;
    while (last < count && items[last].key == items[first].key) ++last;
    const double rank = static_cast<double>(first + last - 1) / 2 / static_cast<double>(count - 1);
    for (std::size_t i = first; i < last; ++i) ranks[items[i].index] = static_cast<float>(rank);
    first = last;
  }
  return ranks;
}

// Rounding to floats keeps the order, so that only neighbours of equal keys are left to sort.
void sort_ascending(std::vector<double>& values) {
  if (values.size() <= kComparedAtMost) return std::sort(values.begin(), values.end());
  std::vector<Keyed> items = keyed(values);
  radix_sort(items);
  std::vector<double> sorted;
  sorted.reserve(values.size());
  for (std::size_t first = 0; first < items.size();) {
    std::size_t last = first;
    for (; last < items.size() && items[last].key == items[first].key; ++last)
      sorted.push_back(values[items[last].index]);
    if (last > first + 1) std::sort(sorted.begin() + static_cast<std::ptrdiff_t>(first), sorted.end());
    first = last;
  }
  values.swap(sorted);
}

}  // namespace wattle::placement
