#include "common/actuation.hpp"

#include <algorithm>
#include <cmath>

#include "common/parse.hpp"

namespace wattle::actuation {

namespace {
constexpr double kMostValue = 1e6;
constexpr std::string_view kReadsMemory = "+memory";  // paths begin with a slash, so this is not one

std::string milli_text(const std::optional<double>& value) {
  if (!value || !std::isfinite(*value)) return "-";
  return std::to_string(std::llround(std::clamp(*value, 0.0, kMostValue) * 1000));
}

// Optional last word of a header line; left out if unset, because older versions do not expect it.
std::string last_word(const std::optional<double>& value) { return value ? " " + milli_text(value) : ""; }

std::string bytes_text(const std::optional<std::int64_t>& bytes) { return bytes ? std::to_string(*bytes) : "-"; }

std::string protection_text(const std::optional<Protection>& low) {
  return low ? "+" + std::to_string(low->bytes) + "/" + std::to_string(low->effective_bytes) : "";
}

bool fits(const std::string& path) {
  return !path.empty() && path.size() <= kMaxPathBytes && path.find('\n') == std::string::npos;
}

template <class Item, class Line>
void append_lines(std::string& text, const std::vector<Item>& items, const Line& line_of, std::size_t count = 0) {
  for (const auto& item : items) {
    if (!fits(item.path)) continue;
    const std::string line = line_of(item);
    if (++count > kMaxWorkloads || text.size() + line.size() > kMaxMessageBytes) return;
    text += line;
  }
}

std::string_view take_word(std::string_view& text) {
  const auto end = text.find(' ');
  const auto word = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return word;
}

// Returns false if the word is neither "-" nor a number in range.
bool take_milli(std::string_view& line, std::optional<double>& out) {
  const auto word = take_word(line);
  if (word == "-") return true;
  const auto thousandths = parse::u64(word);
  if (!thousandths || static_cast<double>(*thousandths) > kMostValue * 1000) return false;
  out = static_cast<double>(*thousandths) / 1000;
  return true;
}

template <class Enum, std::size_t N>
std::optional<Enum> named(const std::array<std::string_view, N>& names, std::string_view word) {
  const auto found = std::ranges::find(names, word);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}

std::string requests_text(const std::optional<Requests>& requests) {
  if (!requests) return "";
  return ":" + std::to_string(requests->count) + "/" + std::to_string(std::min(requests->over, requests->count));
}

bool take_requests(std::string_view word, Requests& out) {
  const auto slash = word.find('/');
  if (slash == std::string_view::npos) return false;
  const auto count = parse::u64(word.substr(0, slash)), over = parse::u64(word.substr(slash + 1));
  if (!count || !over || *over > *count) return false;
  out = {*count, *over};
  return true;
}

constexpr double kBillion = 1e9;

std::string billionths(double value) {
  return std::to_string(std::llround(std::clamp(std::isfinite(value) ? value : 0.0, 0.0, kMostValue) * kBillion));
}

std::string step_text(const std::optional<MarginStep>& step) {
  if (!step) return "";
  return "@" + std::to_string(step->minute) + "/" + billionths(1 + step->margin_ratio) +
         (step->memory_ratio ? "/" + billionths(1 + *step->memory_ratio) : "");
}

bool take_billionths(std::string_view word, double& out) {
  const auto number = parse::u64(word);
  if (!number || static_cast<double>(*number) > kMostValue * kBillion) return false;
  out = static_cast<double>(*number) / kBillion;
  return true;
}

std::string_view take_part(std::string_view& text) {
  const auto end = text.find('/');
  const auto part = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return part;
}

bool take_base(std::string_view word, double& ratio) {
  double base = 0;
  if (!take_billionths(word, base) || base <= 0) return false;
  ratio = base - 1;
  return true;
}

bool take_step(std::string_view word, MarginStep& out) {
  if (word.ends_with('/')) return false;
  const auto minute = parse::u64(take_part(word));
  if (!minute || !take_base(take_part(word), out.margin_ratio)) return false;
  out.minute = *minute;
  return word.empty() || take_base(word, out.memory_ratio.emplace());
}

std::string memory_text(const MinuteOfMemory& memory) {
  return "/m/" + (memory.margin_ratio ? billionths(1 + *memory.margin_ratio) : "-") + "/" +
         std::to_string(memory.granted_bytes) + "/" + std::to_string(memory.used_bytes) + "/" +
         billionths(memory.used_over_peak) + "/" + billionths(memory.short_ratio);
}

bool take_memory(std::string_view& word, MinuteOfMemory& out) {
  const auto margin = take_part(word);
  if (margin != "-" && !take_base(margin, out.margin_ratio.emplace())) return false;
  const auto granted = parse::u64(take_part(word)), used = parse::u64(take_part(word));
  if (!granted || !used) return false;
  out.granted_bytes = *granted;
  out.used_bytes = *used;
  return take_billionths(take_part(word), out.used_over_peak) && take_billionths(take_part(word), out.short_ratio);
}

// NUMBER/STEERED/BASE/RULE/THROTTLED/USED/GRANTED/DEVIATION/PEAK[/COUNT/OVER][/m/BASE/GRANTED/USED/OF_PEAK/SHORT][/o]
// STEERED is 0 or 1. Memory follows "m"; its BASE is "-" without a limit. "o" means that a student failed its trial.
std::string minute_text(const std::optional<Minute>& minute) {
  if (!minute) return "";
  std::string text = ":" + std::to_string(minute->number) + (minute->steered ? "/1" : "/0");
  for (const double value : {1 + minute->margin_ratio, 1 + minute->rule_margin_ratio, minute->throttled_ratio,
                             minute->used_cores, minute->granted_cores, minute->deviation_ratio, minute->peak_ratio})
    text += "/" + billionths(value);
  if (minute->requests)
    text += "/" + std::to_string(minute->requests->count) + "/" +
            std::to_string(std::min(minute->requests->over, minute->requests->count));
  if (minute->memory) text += memory_text(*minute->memory);
  return text + (minute->student_out ? "/o" : "");
}

bool take_minute(std::string_view word, Minute& out) {
  if (word.ends_with('/')) return false;
  const auto number = parse::u64(take_part(word));
  const auto steered = take_part(word);
  if (!number || (steered != "0" && steered != "1")) return false;
  out.number = *number;
  out.steered = steered == "1";
  double base = 0, rule_base = 0;
  for (double* value : {&base, &rule_base, &out.throttled_ratio, &out.used_cores, &out.granted_cores,
                        &out.deviation_ratio, &out.peak_ratio})
    if (!take_billionths(take_part(word), *value)) return false;
  out.margin_ratio = base - 1;
  out.rule_margin_ratio = rule_base - 1;
  if (!word.empty() && word.front() != 'm' && word.front() != 'o') {
    const auto count = take_part(word), over = take_part(word);
    if (!take_requests(std::string(count) + "/" + std::string(over), out.requests.emplace())) return false;
  }
  if (word.starts_with("m/")) {
    word.remove_prefix(2);
    if (!take_memory(word, out.memory.emplace())) return false;
  }
  out.student_out = word == "o";
  return word.empty() || out.student_out;
}

bool take_line(std::string_view line, Order& out) {
  auto word = take_word(line);
  if (const auto at = word.find('@'); at != std::string_view::npos) {
    if (!take_step(word.substr(at + 1), out.step.emplace())) return false;
    word = word.substr(0, at);
  }
  const auto colon = word.find(':');
  const auto level = parse_level(word.substr(0, colon));
  if (!level) return false;
  if (colon != std::string_view::npos && !take_requests(word.substr(colon + 1), out.requests.emplace())) return false;
  out.level = *level;
  out.path = line;
  return fits(out.path);
}

bool take_protection(std::string_view word, std::optional<Protection>& out) {
  const auto slash = word.find('/');
  if (slash == std::string_view::npos) return false;
  const auto bytes = parse::integer<std::int64_t>(word.substr(0, slash)),
             effective = parse::integer<std::int64_t>(word.substr(slash + 1));
  if (!bytes || !effective || *effective < 0 || *bytes < *effective) return false;
  out = {*bytes, *effective};
  return true;
}

bool take_line(std::string_view line, Grant& out) {
  const auto level = parse_level(take_word(line));
  const auto state = named<State>(kStateNames, take_word(line));
  std::optional<double> used;
  if (!level || !state || !take_milli(line, used) || !used) return false;
  if (!take_milli(line, out.granted_cores) || !take_milli(line, out.freed_cores)) return false;
  auto high = take_word(line);
  if (const auto plus = high.find('+'); plus != std::string_view::npos) {
    if (!take_protection(high.substr(plus + 1), out.low)) return false;
    high = high.substr(0, plus);
  }
  if (high != "-") {
    out.high_bytes = parse::integer<std::int64_t>(high);
    if (!out.high_bytes || *out.high_bytes < 0) return false;
  }
  const auto reported = take_word(line);
  const auto colon = reported.find(':');
  const auto refills = parse::u64(reported.substr(0, colon));
  if (!refills) return false;
  if (colon != std::string_view::npos && !take_minute(reported.substr(colon + 1), out.minute.emplace())) return false;
  out.level = *level;
  out.state = *state;
  out.used_cores = *used;
  out.refills = *refills;
  out.path = line;
  return fits(out.path);
}

tl::unexpected<Error> refuse(Errc code, std::string_view kind, std::string what) {
  return fail(code, std::string(kind), std::move(what), "use the same version of wattle-agent and wattle-actuator");
}

// Returns the words after "KIND 1 " of the first line, and parses every other line into `items`.
template <class Item>
Result<std::string_view> take_message(std::string_view text, std::string_view kind, std::vector<Item>& items) {
  if (text.size() > kMaxMessageBytes)
    return refuse(Errc::out_of_range, kind, "more than " + std::to_string(kMaxMessageBytes) + " bytes");
  const auto end = text.find('\n');
  if (end == std::string_view::npos) return refuse(Errc::malformed, kind, "the first line is missing");
  std::string_view head = text.substr(0, end);
  if (take_word(head) != kind || take_word(head) != "1")
    return refuse(Errc::malformed, kind, "is a different kind or version of message");
  text.remove_prefix(end + 1);
  while (!text.empty()) {
    const auto stop = text.find('\n');
    if (stop == std::string_view::npos) return refuse(Errc::malformed, kind, "the last line is truncated");
    if (items.size() == kMaxWorkloads)
      return refuse(Errc::out_of_range, kind, "more than " + std::to_string(kMaxWorkloads) + " workloads");
    Item item;
    if (!take_line(text.substr(0, stop), item))
      return refuse(Errc::malformed, kind, "line " + std::to_string(items.size() + 2) + " is invalid");
    items.push_back(std::move(item));
    text.remove_prefix(stop + 1);
  }
  return head;
}
}  // namespace

std::optional<Level> parse_level(std::string_view word) { return named<Level>(kLevelNames, word); }

std::string to_text(const Orders& orders) {
  std::string text = "orders 1 " + milli_text(orders.headroom_cores) + last_word(orders.core_power_w) + "\n";
  if (orders.memory) text += "off " + std::string(kReadsMemory) + "\n";
  const auto line_of = [](const Order& order) {
    return std::string(kLevelNames[static_cast<std::size_t>(order.level)]) + requests_text(order.requests) +
           step_text(order.step) + " " + order.path + "\n";
  };
  append_lines(text, orders.orders, line_of, orders.memory ? 1 : 0);
  return text;
}

std::string to_text(const Report& report) {
  std::string text =
      "report 1 " + milli_text(report.headroom_cores) + " " + std::to_string(report.foreign) +
      (report.student_out > 0 ? " " + milli_text(report.core_power_w) + " " + std::to_string(report.student_out)
                              : last_word(report.core_power_w)) +
      "\n";
  append_lines(text, report.grants, [](const Grant& grant) {
    return std::string(kLevelNames[static_cast<std::size_t>(grant.level)]) + " " +
           std::string(kStateNames[static_cast<std::size_t>(grant.state)]) + " " +
           milli_text(std::max(grant.used_cores, 0.0)) + " " + milli_text(grant.granted_cores) + " " +
           milli_text(grant.freed_cores) + " " + bytes_text(grant.high_bytes) + protection_text(grant.low) + " " +
           std::to_string(grant.refills) + minute_text(grant.minute) + " " + grant.path + "\n";
  });
  return text;
}

Result<Orders> parse_orders(std::string_view text) {
  Orders out;
  WATTLE_TRY(std::string_view head, take_message(text, "orders", out.orders));
  if (!take_milli(head, out.headroom_cores) || (!head.empty() && !take_milli(head, out.core_power_w)) || !head.empty())
    return refuse(Errc::malformed, "orders", "the first line is invalid");
  out.memory = std::erase_if(out.orders, [](const Order& order) {
                 return order.level == Level::off && order.path == kReadsMemory;
               }) > 0;
  return out;
}

Result<Report> parse_report(std::string_view text) {
  Report out;
  WATTLE_TRY(std::string_view head, take_message(text, "report", out.grants));
  const bool headroom = take_milli(head, out.headroom_cores);
  const auto foreign = parse::u64(take_word(head));
  const bool power = head.empty() || take_milli(head, out.core_power_w);
  const auto student_out = head.empty() ? std::optional<std::uint64_t>(0) : parse::u64(take_word(head));
  if (!headroom || !foreign || !power || !student_out || !head.empty())
    return refuse(Errc::malformed, "report", "the first line is invalid");
  out.foreign = *foreign;
  out.student_out = *student_out;
  return out;
}

}  // namespace wattle::actuation
