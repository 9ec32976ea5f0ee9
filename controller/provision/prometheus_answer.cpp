#include "controller/provision/prometheus_answer.hpp"

#include <optional>
#include <set>

#include "common/json/value.hpp"
#include "common/parse.hpp"

namespace wattle::controller {
namespace {

using Answered = SortedJson;

constexpr std::size_t kMostWords = 200;  // longest error or label text
constexpr std::size_t kMostNameBytes = 256;

std::string cut(std::string text) {
  if (text.size() <= kMostWords) return text;
  std::size_t end = kMostWords;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  text.resize(end);
  return text + "...";
}

std::string word_of(const Answered& object, const char* key) {
  return object[key].is_string() ? object[key].string() : std::string();
}

tl::unexpected<Error> not_so(const std::string& subject, const std::string& what) {
  return fail(Errc::malformed, subject, what, "use an instant query, for example sum by (workload) (...)");
}

bool are_labels(const Answered& metric) {
  if (!metric.is_object()) return false;
  for (const auto& label : metric)
    if (!label.is_string()) return false;
  return true;
}

TrafficKey key_of(const Answered& metric) {
  std::string name = word_of(metric, "workload");
  if (const std::string space = word_of(metric, "namespace"); !space.empty() && !name.empty())
    name = space + "/" + name;
  return {word_of(metric, "node"), std::move(name)};
}

bool is_no_number(std::string_view text) { return text == "NaN" || text == "+Inf" || text == "-Inf" || text == "Inf"; }

// Sums of quotients may exceed `most` by rounding.
std::optional<double> within(double value, double most) {
  constexpr double kRounding = 1e-6;
  if (value < 0 || value > most * (1 + kRounding)) return std::nullopt;
  return std::min(value, most);
}

Status is_vector(const Answered& answer, const std::string& subject) {
  if (!answer.is_object()) return not_so(subject, "the answer is not a JSON object");
  const std::string status = word_of(answer, "status");
  if (status == "error")
    return fail(Errc::unavailable, subject,
                cut("answers " + word_of(answer, "errorType") + ": " + word_of(answer, "error")),
                "test the query in the web interface of Prometheus");
  if (status != "success") return not_so(subject, "the answer has no status");
  const std::string type = word_of(answer["data"], "resultType");
  if (type != "vector")
    return not_so(subject, cut("answers " + (type.empty() ? "no result" : "a " + type) + ", no vector"));
  const Answered& result = answer["data"]["result"];
  if (!result.is_array()) return not_so(subject, "the answer is a vector but not a list");
  if (result.size() > kMostSeries)
    return not_so(subject,
                  "the answer contains more than " + std::to_string(kMostSeries) + " series: sum by fewer labels");
  return {};
}

}  // namespace

Result<TrafficValues> parse_prometheus(std::string_view body, double most, const std::string& subject) {
  const auto parsed = Answered::parse(body, {.text_bytes = 8 << 20, .built_bytes = 64 << 20});
  if (!parsed)
    return not_so(subject, parsed.error().code == Errc::out_of_range ? "the answer is JSON that " + parsed.error().what
                                                                     : "the answer is not JSON");
  const Answered& answer = *parsed;
  WATTLE_CHECK(is_vector(answer, subject));
  TrafficValues out;
  std::set<TrafficKey> again;
  const auto leave = [&out](std::size_t& count, const Answered& metric) {
    ++count;
    if (out.example.empty()) out.example = cut(metric.dump(-1, JsonText::ascii));
  };
  for (const Answered& series : answer["data"]["result"]) {
    const Answered& metric = series["metric"];
    if (!are_labels(metric)) return not_so(subject, "the answer contains a series without labels");
    if (series.contains("histogram")) {  // a native histogram; the query should take a quantile of it
      leave(out.out_of_range, metric);
      continue;
    }
    const Answered& value = series["value"];
    if (!value.is_array() || value.size() != 2 || !value[0].is_number() || !value[1].is_string())
      return not_so(subject, "the answer contains a series without a time and a value");
    const auto& text = value[1].string();
    if (is_no_number(text)) {
      ++out.no_number;
      continue;
    }
    const auto number = parse::real(text);
    if (!number) return not_so(subject, cut("the answer contains the value '" + text + "'"));
    TrafficKey key = key_of(metric);
    const auto reported = within(*number, most);
    if (key.second.empty() || key.second.size() > kMostNameBytes || key.first.size() > kMostNameBytes)
      leave(out.unnamed, metric);
    else if (!reported)
      leave(out.out_of_range, metric);
    else if (again.contains(key) || out.values.contains(key)) {
      leave(out.twice, metric);
      again.insert(std::move(key));
    } else
      out.values.emplace(std::move(key), *reported);
  }
  for (const TrafficKey& key : again) out.twice += out.values.erase(key);
  return out;
}

}  // namespace wattle::controller
