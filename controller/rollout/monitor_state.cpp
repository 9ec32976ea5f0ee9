#include "controller/rollout/monitor_state.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>

#include "common/json/value.hpp"
#include "controller/rollout/budget_monitor.hpp"

namespace wattle::controller {
namespace {

using json = SortedJson;
constexpr std::uint64_t kFormat = 1;
constexpr std::uint64_t kCandidatesFormat = 4;  // earlier ones compare with a floor without costs
constexpr std::size_t kMostStateText = 4096;

tl::unexpected<Error> wrong_state(std::string_view row, const char* what) {
  return fail(Errc::malformed, "monitor " + std::string(row), what,
              "its state is discarded; to let Wattle act: wattle policy set --mode MODE --force --why TEXT");
}

// Reads the fields of one row, each with the requested type.
class Fields {
 public:
  static Result<Fields> of(std::string_view row, std::string_view text, std::uint64_t newest = kFormat) {
    if (text.empty()) return wrong_state(row, "is empty, possibly after a power failure");
    if (text.size() > kMaxStateBytes) return wrong_state(row, "is too long");
    Fields fields(row, json::read(text, {.text_bytes = 16 << 20, .built_bytes = 128 << 20}));
    if (!fields.json_.is_object()) return wrong_state(row, "is not a JSON object");
    fields.take("format", fields.format_);
    if (!fields.ok_ || fields.format_ < 1 || fields.format_ > newest) return wrong_state(row, "has another format");
    return fields;
  }
  Fields& take(const char* key, std::string& value) { return take(key, value, &json::is_string); }
  Fields& take(const char* key, bool& value) { return take(key, value, &json::is_boolean); }
  Fields& take(const char* key, std::uint64_t& value) { return take(key, value, &json::is_number_unsigned); }
  Fields& take(const char* key, double& value) {
    take(key, value, &json::is_number);
    ok_ = ok_ && std::isfinite(value);
    return *this;
  }
  Fields& take(const char* key, std::vector<double>& values) {
    const json* list = array(key);
    for (const json& each : list != nullptr ? *list : json::array()) {
      ok_ = ok_ && each.is_number();
      if (ok_) values.push_back(each.get<double>());
    }
    return *this;
  }
  const json* array(const char* key) {
    const auto found = json_.find(key);
    ok_ = ok_ && found != json_.end() && found->is_array();
    return ok_ ? &*found : nullptr;
  }
  std::uint64_t format() const { return format_; }
  void refuse_unless(bool sane) { ok_ = ok_ && sane; }
  Status whole() const {
    if (!ok_) return wrong_state(row_, "lacks a field or has a field of the wrong type");
    return {};
  }

 private:
  Fields(std::string_view row, json value) : row_(row), json_(std::move(value)) {}
  template <class Value>
  Fields& take(const char* key, Value& value, bool (json::*is)() const noexcept) {
    const auto found = json_.find(key);
    ok_ = ok_ && found != json_.end() && ((*found).*is)();
    if (ok_) value = found->get<Value>();
    if constexpr (std::is_same_v<Value, std::string>) ok_ = ok_ && value.size() <= kMostStateText;
    return *this;
  }

  std::string_view row_;
  json json_;
  std::uint64_t format_ = 0;
  bool ok_ = true;
};

std::string row_text(const json& value) { return value.dump() + "\n"; }

using BlockValue = double placement::ModelledBlock::*;
constexpr std::array<BlockValue, 9> kBlockValues{
    &placement::ModelledBlock::seconds,          &placement::ModelledBlock::now_j,
    &placement::ModelledBlock::advised_j,        &placement::ModelledBlock::now_waited_s,
    &placement::ModelledBlock::advised_waited_s, &placement::ModelledBlock::pod_s,
    &placement::ModelledBlock::advised_pod_s,    &placement::ModelledBlock::asleep_j,
    &placement::ModelledBlock::may_sleep_s};

json block_numbers(const placement::ModelledBlock& block) {
  json numbers = json::array();
  for (const BlockValue value : kBlockValues) numbers.push_back(block.*value);
  return numbers;
}

bool read_block(const std::vector<double>& numbers, placement::ModelledBlock& block) {
  if (numbers.size() != kBlockValues.size()) return false;
  for (std::size_t i = 0; i < numbers.size(); ++i) block.*kBlockValues[i] = numbers[i];
  return block.sane();
}

}  // namespace

std::string gate_text(const GateState& state) {
  return row_text({{"format", kFormat}, {"decisions", state.decisions}, {"nonsense", state.nonsense}});
}

Result<GateState> parse_gate(std::string_view text) {
  WATTLE_TRY(Fields fields, Fields::of(kGateRow, text));
  GateState state;
  WATTLE_CHECK(fields.take("decisions", state.decisions).take("nonsense", state.nonsense).whole());
  return state;
}

std::string regression_text(const RegressionMonitor::State& state) {
  return row_text({{"format", kFormat}, {"level", state.level}, {"judged", state.judged}, {"control", state.control}});
}

Result<RegressionMonitor::State> parse_regression(std::string_view text) {
  WATTLE_TRY(Fields fields, Fields::of(kRegressionRow, text));
  RegressionMonitor::State state;
  WATTLE_CHECK(fields.take("level", state.level).take("judged", state.judged).take("control", state.control).whole());
  if (!RegressionMonitor().restore(state)) return wrong_state(kRegressionRow, "contains an impossible state");
  return state;
}

std::string saving_text(const SavingState& kept) {
  json blocks = json::array();
  for (const placement::ModelledBlock& each : kept.state.blocks) blocks.push_back(block_numbers(each));
  return row_text({{"format", kFormat},
                   {"of", kept.of.substr(0, kMostStateText)},
                   {"block_s", kept.state.block_s},
                   {"blocks", std::move(blocks)},
                   {"open", block_numbers(kept.state.open)}});
}

Result<SavingState> parse_saving(std::string_view text) {
  WATTLE_TRY(Fields fields, Fields::of(kSavingRow, text));
  SavingState kept;
  fields.take("of", kept.of).take("block_s", kept.state.block_s);
  std::vector<double> open;
  fields.take("open", open);
  fields.refuse_unless(read_block(open, kept.state.open));
  const json* blocks = fields.array("blocks");
  for (const json& each : blocks != nullptr ? *blocks : json::array()) {
    std::vector<double> numbers;
    for (const json& number : each) numbers.push_back(number.is_number() ? number.get<double>() : NAN);
    fields.refuse_unless(read_block(numbers, kept.state.blocks.emplace_back()));
  }
  WATTLE_CHECK(fields.whole());
  // Any configured length of a block is possible.
  if (!placement::ModelledSaving({.block_s = 0}).restore(kept.state))
    return wrong_state(kSavingRow, "contains an impossible state");
  return kept;
}

namespace {

// One candidate as numbers, in this order; the newest differences follow.
std::vector<double> arm_numbers(const stats::BestArm::Arm& arm, const placement::CandidateTrials::Waited& waited) {
  const auto count = [](std::uint64_t value) { return static_cast<double>(value); };
  std::vector<double> numbers{count(arm.rests_until), count(arm.withdrawals), count(arm.tried), waited.sum,
                              count(waited.blocks)};
  for (const auto& sums : {arm.over_floor.sums(), arm.over_serving.sums()})
    numbers.insert(numbers.end(), {count(sums.pairs), sums.ad, sums.aadd, sums.aa, sums.aaad, sums.aaaa});
  numbers.insert(numbers.end(), arm.newest.begin(), arm.newest.end());
  return numbers;
}

constexpr std::size_t kSums = 6, kArmNumbers = 5 + 2 * kSums;
constexpr double kMostCount = 1e15;

bool read_arm(const std::vector<double>& numbers, stats::BestArm::Arm& arm,
              placement::CandidateTrials::Waited& waited) {
  if (numbers.size() < kArmNumbers || numbers.size() > kArmNumbers + stats::PairedEvidence::kLeast) return false;
  for (const std::size_t i : {0U, 1U, 2U, 4U, 5U, 11U})
    if (!(numbers[i] >= 0 && numbers[i] <= kMostCount)) return false;
  const auto count = [&numbers](std::size_t i) { return static_cast<std::uint64_t>(numbers[i]); };
  const auto sums = [&](std::size_t i) {
    return stats::PairedEvidence::Sums{count(i),       numbers[i + 1], numbers[i + 2],
                                       numbers[i + 3], numbers[i + 4], numbers[i + 5]};
  };
  arm.rests_until = count(0);
  arm.withdrawals = count(1);
  arm.tried = count(2);
  arm.newest.assign(numbers.begin() + kArmNumbers, numbers.end());
  waited = {numbers[3], count(4)};
  return arm.over_floor.restore(sums(5)) && arm.over_serving.restore(sums(5 + kSums));
}

}  // namespace

std::string candidates_text(const CandidatesState& kept) {
  const stats::BestArm::State& state = kept.state.arms;
  json arms = json::array();
  for (std::size_t i = 0; i < state.arms.size(); ++i) arms.push_back(arm_numbers(state.arms[i], kept.state.waited[i]));
  std::vector<double> spent, floor;
  for (const auto& each : state.spent)
    spent.insert(spent.end(), {static_cast<double>(each.arm), each.excess, each.exposure});
  for (const auto& each : state.floor)
    floor.insert(floor.end(), {static_cast<double>(each.number), each.outcome.log_cost, each.outcome.log_expected});
  return row_text({{"format", kCandidatesFormat},
                   {"of", kept.of.substr(0, kMostStateText)},
                   {"network", kept.network.substr(0, kMostStateText)},
                   {"in_use", static_cast<std::uint64_t>(state.serving)},
                   {"blocks", state.blocks},
                   {"groups", state.groups},
                   {"products", state.products},
                   {"squares", state.squares},
                   {"candidates", std::move(arms)},
                   {"day", spent},
                   {"floor", floor}});
}

Result<CandidatesState> parse_candidates(std::string_view text) {
  WATTLE_TRY(Fields fields, Fields::of(kCandidatesRow, text, kCandidatesFormat));
  CandidatesState kept;
  stats::BestArm::State& state = kept.state.arms;
  std::uint64_t in_use = 0;
  std::vector<double> spent, floor;
  fields.take("of", kept.of).take("network", kept.network);
  if (fields.format() < kCandidatesFormat) {
    WATTLE_CHECK(fields.whole());
    kept.state = placement::CandidateTrials().saved();
    return kept;
  }
  fields.take("in_use", in_use).take("blocks", state.blocks).take("groups", state.groups);
  fields.take("products", state.products).take("squares", state.squares).take("day", spent).take("floor", floor);
  const json* arms = fields.array("candidates");
  for (const json& each : arms != nullptr ? *arms : json::array()) {
    std::vector<double> numbers;
    for (const json& number : each) numbers.push_back(number.is_number() ? number.get<double>() : NAN);
    fields.refuse_unless(read_arm(numbers, state.arms.emplace_back(), kept.state.waited.emplace_back()));
  }
  const auto counts = [](double value) { return value >= 0 && value <= kMostCount; };
  fields.refuse_unless(spent.size() % 3 == 0 && floor.size() % 3 == 0);
  for (std::size_t i = 0; i + 2 < spent.size(); i += 3) {
    fields.refuse_unless(counts(spent[i]));
    state.spent.push_back(
        {static_cast<std::size_t>(std::clamp(spent[i], 0.0, kMostCount)), spent[i + 1], spent[i + 2]});
  }
  for (std::size_t i = 0; i + 2 < floor.size(); i += 3) {
    fields.refuse_unless(counts(floor[i]));
    state.floor.push_back(
        {static_cast<std::uint64_t>(std::clamp(floor[i], 0.0, kMostCount)), {floor[i + 1], floor[i + 2]}});
  }
  state.serving = static_cast<std::size_t>(in_use);
  WATTLE_CHECK(fields.whole());
  if (!placement::CandidateTrials().restore(kept.state))
    return wrong_state(kCandidatesRow, "contains an impossible state");
  return kept;
}

std::string over_budget_text(double over_s) { return row_text({{"format", kFormat}, {"over_s", over_s}}); }

Result<double> parse_over_budget(std::string_view row, std::string_view text) {
  WATTLE_TRY(Fields fields, Fields::of(row, text));
  double over_s = 0;
  fields.take("over_s", over_s);
  WATTLE_CHECK(fields.whole());
  if (!BudgetMonitor().restore(over_s)) return wrong_state(row, "contains an impossible state");
  return over_s;
}

}  // namespace wattle::controller
