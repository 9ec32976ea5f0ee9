#include "controller/ingest/overload.hpp"

#include <algorithm>

namespace wattle::controller {
namespace {

using std::chrono::milliseconds;
constexpr Duration kWindow = std::chrono::seconds(1);
constexpr double kFullBusy = 0.9, kEasyBusy = 0.6;
constexpr double kAimBusy = 0.75;
constexpr double kFullWait_s = 0.5, kEasyWait_s = 0.1;
constexpr double kFalls = 0.98;  // a wait below this share of that in the first full window: the queue is shrinking
constexpr int kFullWindows = 3, kEasyWindows = 2, kMostEasyWindows = 64;
constexpr Duration kTooFar = std::chrono::seconds(60);  // full windows within it show a too short interval
constexpr Duration kSettle = std::chrono::seconds(1);   // in addition to an interval of the agents
constexpr Duration kShortest = milliseconds(100);       // agents tick no faster
constexpr std::uint64_t kLeastCredit = 2;

}  // namespace

void Overload::record(Duration interval) {
  if (interval <= Duration{0}) return;
  ++records_;
  intervals_ += interval;
}

bool Overload::turn(MonoTime now) {
  if (began_ == MonoTime{}) began_ = now;
  const Duration window = now - began_;
  if (window < kWindow) return false;
  const Duration before = tick_;
  const double busy_ratio = 1 - std::min(1.0, seconds(slept_) / seconds(window));
  const double wait_s = messages_ == 0 ? 0 : seconds(waited_) / static_cast<double>(messages_);
  records_per_s_ = static_cast<double>(records_) / seconds(window);
  if (records_ > 0) mean_ = intervals_ / static_cast<std::int64_t>(records_);
  judge(now, busy_ratio, wait_s);
  began_ = now;
  slept_ = waited_ = intervals_ = {};
  messages_ = records_ = 0;
  return tick_ != before;
}

void Overload::judge(MonoTime now, double busy_ratio, double wait_s) {
  const bool full = busy_ratio > kFullBusy && wait_s > kFullWait_s;
  const bool easy = busy_ratio < kEasyBusy && wait_s < kEasyWait_s;
  if (full_ == 0) wait_s_ = wait_s;
  full_ = full ? full_ + 1 : 0;
  easy_ = easy ? easy_ + 1 : 0;
  if (now < settled_at_) return;
  const Duration before = tick_;
  if (full_ >= kFullWindows) {
    if (wait_s > kFalls * wait_s_) lengthen(now);
    full_ = 0;
  }
  if (easy_ >= easy_needed_ && tick_ > Duration{0}) shorten(now, busy_ratio);
  if (tick_ == before) return;
  settled_at_ = now + kSettle + std::max(before, tick_);
  full_ = easy_ = 0;
}

void Overload::lengthen(MonoTime now) {
  const bool too_far = shortened_at_ != MonoTime{} && now - shortened_at_ < kTooFar;
  easy_needed_ = too_far ? std::min(2 * easy_needed_, kMostEasyWindows) : kEasyWindows;
  if (tick_ == Duration{0}) own_ = std::max(mean_, kShortest);
  tick_ = std::min(longest_, 2 * std::max(tick_, own_));
}

void Overload::shorten(MonoTime now, double busy_ratio) {
  shortened_at_ = now;
  tick_ = from_seconds(seconds(tick_) * std::clamp(busy_ratio / kAimBusy, 0.5, 0.9));
  if (tick_ <= own_) tick_ = {};
}

Shedding Overload::shedding(std::size_t sessions) const {
  if (tick_ == Duration{0}) return {};
  const double share = records_per_s_ / static_cast<double>(std::max<std::size_t>(sessions, 1));
  return {tick_, std::max(kLeastCredit, static_cast<std::uint64_t>(share))};
}

}  // namespace wattle::controller
