#include "controller/web/fleet_history.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "common/digest.hpp"
#include "placement/cluster/packed.hpp"

namespace wattle::controller {
namespace {

constexpr std::string_view kHistoryMagic = "wattle-history 1\n";
constexpr std::size_t kHistoryDigestSize = 64, kMostHistoryBytes = std::size_t{4} << 20;
constexpr float kUnknownValue = std::numeric_limits<float>::quiet_NaN();
using NodePods = std::vector<std::pair<std::string, std::size_t>>;

// Two values in a word.
void pack_row(placement::PackWriter& out, const FleetHistory::Row& row) {
  for (std::size_t i = 0; i < row.size(); i += 2)
    out.word(std::uint64_t{std::bit_cast<std::uint32_t>(row[i])} << 32U | std::bit_cast<std::uint32_t>(row[i + 1]));
}

FleetHistory::Row unpack_row(placement::PackReader& in) {
  FleetHistory::Row row{};
  for (std::size_t i = 0; i < row.size(); i += 2) {
    const std::uint64_t word = in.word();
    row[i] = std::bit_cast<float>(static_cast<std::uint32_t>(word >> 32U));
    row[i + 1] = std::bit_cast<float>(static_cast<std::uint32_t>(word));
  }
  return row;
}
static_assert(FleetHistory::kWidth % 2 == 0);

}  // namespace

FleetHistory::Row FleetHistory::Tier::mean() const {
  Row row{};
  for (std::size_t i = 0; i < row.size(); ++i)
    row[i] = counts[i] == 0 ? kUnknownValue : static_cast<float>(sums[i] / static_cast<double>(counts[i]));
  return row;
}

void FleetHistory::Tier::add(std::int64_t at_s, const Row& row) {
  const std::int64_t now = at_s / step_s;
  const bool known = std::any_of(counts.begin(), counts.end(), [](std::uint32_t count) { return count > 0; });
  if (now != number) {
    if (known) slots.push_back({number, mean()});
    // The wall clock was set back: new values replace the existing ones.
    while (!slots.empty() && slots.back().number >= now) slots.pop_back();
    while (slots.size() > capacity) slots.pop_front();
    number = now;
    sums = {};
    counts = {};
  }
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (std::isnan(row[i])) continue;
    sums[i] += static_cast<double>(row[i]);
    ++counts[i];
  }
}

// A node keeps its column. A new one gets an unused column, or that of a removed node, whose past it clears.
std::size_t FleetHistory::column_of(const std::string& node, const NodePods& there) {
  const auto known = std::find(nodes_.begin(), nodes_.end(), node);
  if (known != nodes_.end()) return static_cast<std::size_t>(known - nodes_.begin());
  const auto gone = [&](const std::string& name) {
    return name.empty() ||
           std::none_of(there.begin(), there.end(), [&](const auto& each) { return each.first == name; });
  };
  const auto free = std::find_if(nodes_.begin(), nodes_.end(), gone);
  const auto column = static_cast<std::size_t>(free - nodes_.begin());
  *free = node;
  for (Tier& tier : tiers_) {
    for (Slot& slot : tier.slots) slot.values[kValues.size() + column] = kUnknownValue;
    tier.sums[kValues.size() + column] = 0;
    tier.counts[kValues.size() + column] = 0;
  }
  return column;
}

void FleetHistory::add(std::int64_t at_s, const std::array<float, kValues.size()>& values, const NodePods& pods) {
  Row row;
  row.fill(kUnknownValue);
  std::copy(values.begin(), values.end(), row.begin());
  if (pods.size() <= kMostNodes)
    for (const auto& [node, count] : pods) row[kValues.size() + column_of(node, pods)] = static_cast<float>(count);
  for (Tier& tier : tiers_) tier.add(at_s, row);
}

void FleetHistory::mark(HistoryMark event) {
  marks_.push_back(std::move(event));
  if (marks_.size() > kMostMarks) marks_.pop_front();
}

FleetHistory::Range FleetHistory::range(std::int64_t from_s, std::int64_t until_s) const {
  const auto begins_s = [](const Tier& tier) {
    return (tier.slots.empty() ? tier.number : tier.slots.front().number) * tier.step_s;
  };
  // A finer tier suffices if it has all known values.
  std::int64_t known_s = begins_s(tiers_[0]);
  for (const Tier& tier : tiers_)
    if (!tier.slots.empty()) known_s = std::min(known_s, begins_s(tier) + tier.step_s);
  from_s = std::max(from_s, known_s);
  const Tier* tier = &tiers_.back();
  for (const Tier& each : tiers_)
    if (begins_s(each) <= from_s) {
      tier = &each;
      break;
    }
  const std::int64_t steps = std::max<std::int64_t>(0, until_s / tier->step_s - from_s / tier->step_s + 1);
  const auto most = static_cast<std::int64_t>(kMostPoints);
  const std::int64_t step_s = tier->step_s * std::max<std::int64_t>(1, (steps + most - 1) / most);
  from_s -= from_s % step_s;
  return {tier, from_s, step_s, until_s < from_s ? 0 : static_cast<std::size_t>((until_s - from_s) / step_s + 1)};
}

std::string FleetHistory::save() const {
  placement::PackWriter out;
  out.word(kWidth);
  for (const std::string& node : nodes_) out.text(node);
  for (const Tier& tier : tiers_) {
    const bool known = tier.number > 0;
    out.word(tier.slots.size() + (known ? 1 : 0));
    for (const Slot& slot : tier.slots) {
      out.word(static_cast<std::uint64_t>(slot.number));
      pack_row(out, slot.values);
    }
    if (!known) continue;
    out.word(static_cast<std::uint64_t>(tier.number));
    pack_row(out, tier.mean());
  }
  out.word(marks_.size());
  for (const HistoryMark& each : marks_) {
    out.word(static_cast<std::uint64_t>(each.at_s));
    out.text(each.kind);
    out.text(each.text);
  }
  const std::string body = out.take();
  return std::string(kHistoryMagic) + sha256_hex(body) + "\n" + body;
}

Status FleetHistory::restore(std::string_view bytes) {
  const auto refused = [](const char* what) {
    return fail(Errc::malformed, "history", what, "remove the file; the page's history begins again");
  };
  const std::size_t head = kHistoryMagic.size() + kHistoryDigestSize + 1;
  if (bytes.size() > kMostHistoryBytes) return refused("is too large");
  if (bytes.size() < head || !bytes.starts_with(kHistoryMagic)) return refused("has an unknown format or version");
  const std::string_view body = bytes.substr(head);
  if (sha256_hex(body) != bytes.substr(kHistoryMagic.size(), kHistoryDigestSize)) return refused("is damaged");
  placement::PackReader in(body);
  if (in.word() != kWidth) return refused("has the values of another version");
  FleetHistory read;
  for (std::string& node : read.nodes_) node = in.text();
  constexpr std::size_t kSlotBytes = 8 + 4 * kWidth;
  for (Tier& tier : read.tiers_) {
    std::int64_t last = -1;
    for (std::size_t left = in.count(kSlotBytes); left > 0 && in.ok(); --left) {
      Slot slot;
      slot.number = static_cast<std::int64_t>(in.word());
      slot.values = unpack_row(in);
      if (slot.number <= last) in.refuse();
      last = slot.number;
      tier.slots.push_back(slot);
    }
    while (tier.slots.size() > tier.capacity) tier.slots.pop_front();
  }
  for (std::size_t left = in.count(24); left > 0 && in.ok(); --left) {
    HistoryMark mark;
    mark.at_s = static_cast<std::int64_t>(in.word());
    mark.kind = in.text();
    mark.text = in.text();
    read.mark(std::move(mark));
  }
  if (!in.done()) return refused("is cut off or has extra bytes");
  *this = std::move(read);
  return {};
}

}  // namespace wattle::controller
