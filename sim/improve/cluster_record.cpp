#include "sim/improve/cluster_record.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "common/json/value.hpp"

namespace wattle::sim::consolidation {

namespace {

using json = SortedJson;
constexpr double kMostCores = 1e6, kMostBytes = 1e18, kMostWatts = 1e5, kMostSeconds = 1e11, kMostJoules = 1e15;
constexpr std::size_t kMostHours = 24 * 366;

// Reads the object of a line field by field, and keeps the first error.
class Row {
 public:
  explicit Row(const json& object) : object_(object) {}
  double number(const char* key, double least, double most) {
    const auto found = object_.find(key);
    if (found == object_.end() || !found->is_number()) return wrong(key);
    const auto value = found->get<double>();
    return value >= least && value <= most ? value : wrong(key);
  }
  std::optional<double> number_or_null(const char* key, double least, double most) {
    const auto found = object_.find(key);
    if (found != object_.end() && found->is_null()) return std::nullopt;
    return number(key, least, most);
  }
  std::string text(const char* key) {
    const auto found = object_.find(key);
    if (found != object_.end() && found->is_string()) return found->get<std::string>();
    wrong(key);
    return {};
  }
  const json& list(const char* key, std::size_t most) {
    static const json none = json::array();
    const auto found = object_.find(key);
    if (found != object_.end() && found->is_array() && found->size() <= most) return *found;
    wrong(key);
    return none;
  }
  double wrong(const char* key) {
    if (wrong_.empty()) wrong_ = key;
    return 0;
  }
  const std::string& wrong() const { return wrong_; }

 private:
  const json& object_;
  std::string wrong_;
};

class Reader {
 public:
  // Returns the invalid key; empty if the line is valid.
  std::string take(const json& line) {
    if (!line.is_object() || line.size() != 1 || !line.begin()->is_object()) return "line";
    Row row(line.begin().value());
    const std::string& kind = line.begin().key();
    if (kind == "nodes")
      take_node(row);
    else if (kind == "pods")
      take_pod(row);
    else if (kind == "hours")
      take_hour(row);
    else
      return kind;
    return row.wrong();
  }
  ClusterRecord record;

 private:
  void take_node(Row& row) {
    RecordedNode node;
    node.name = row.text("name");
    node.cores = row.number("cores", 0, kMostCores);
    node.memory_bytes = row.number("memory_bytes", 0, kMostBytes);
    const json& watts = row.list("watts", placement::kCurvePoints);
    if (watts.size() != node.watts.size()) row.wrong("watts");
    for (std::size_t i = 0; i < std::min(watts.size(), node.watts.size()); ++i) {
      if (!watts[i].is_number() || !(watts[i].get<double>() >= 0 && watts[i].get<double>() <= kMostWatts)) {
        row.wrong("watts");
        continue;
      }
      node.watts[i] = watts[i].get<double>();
    }
    node.readings = static_cast<std::uint64_t>(row.number("readings", 0, 1e15));
    node.wake_j = row.number("wake_j", 0, kMostJoules);
    node.asleep = row.text("state") == "asleep";
    if (node.cores <= 0 || node.memory_bytes <= 0) return;  // an agent has not reported its size
    if (!nodes_.emplace(node.name, record.nodes.size()).second) row.wrong("name");
    record.nodes.push_back(std::move(node));
  }
  void take_pod(Row& row) {
    RecordedPod pod;
    const auto node = nodes_.find(row.text("node"));
    pod.node = node == nodes_.end() ? ClusterRecord::kNoNode : node->second;
    placement::AppKey app{row.text("owner"), row.text("image"), row.text("labels")};
    const auto known = apps_.emplace(app.owner + '\n' + app.image + '\n' + app.labels, record.apps.size());
    if (known.second) record.apps.push_back(std::move(app));
    pod.app = known.first->second;
    pod.request = {row.number("cpu_cores", 0, kMostCores), row.number("memory_bytes", 0, kMostBytes)};
    pod.placed_s = row.number("placed_s", 0, kMostSeconds);
    if (const auto ended = row.number_or_null("ended_s", 0, kMostSeconds)) pod.ended_s = std::max(*ended, pod.placed_s);
    for (const json& used : row.list("used_cores", kMostHours)) {
      const bool known_here = used.is_number() && used.get<double>() >= 0 && used.get<double>() <= kMostCores;
      if (!known_here && !used.is_null()) row.wrong("used_cores");
      pod.used_cores.push_back(known_here ? used.get<float>() : std::nanf(""));
    }
    record.pods.push_back(std::move(pod));
  }
  void take_hour(Row& row) {
    RecordedHour hour;
    const auto node = nodes_.find(row.text("node"));
    hour.from_s = row.number("from_s", 0, kMostSeconds);
    hour.measured_j = row.number("measured_j", 0, kMostJoules);
    const bool modelled = row.number("estimated_j", 0, kMostJoules) > 0;
    if (node == nodes_.end() || modelled || hour.measured_j <= 0) return;
    hour.node = node->second;
    record.hours.push_back(hour);
  }

  std::map<std::string, std::size_t> nodes_, apps_;
};

}  // namespace

Result<ClusterRecord> parse_cluster_record(std::string_view text, const std::string& subject) {
  constexpr const char* kFix = "create it again with wattle model record";
  Reader reader;
  std::size_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    ++number;
    const auto bad = [&](const std::string& what) {
      return fail(Errc::malformed, subject, "line " + std::to_string(number) + ": " + what, kFix);
    };
    const json object = json::read(line, {.text_bytes = 16 << 20, .built_bytes = 256 << 20, .depth = 4});
    if (!object.is_object()) return bad("is not a JSON object");
    if (number > 1) {
      const std::string wrong = reader.take(object);
      if (!wrong.empty()) return bad("'" + wrong + "' is missing or has the wrong type");
      continue;
    }
    const auto kind = object.find("wattle_record");
    if (kind == object.end() || *kind != 1) return bad("is not the head of a record of this version");
    Row head(object);
    reader.record.to_s = head.number("to_s", 0, kMostSeconds);
    if (!head.wrong().empty()) return bad("'to_s' is missing");
  }
  ClusterRecord& record = reader.record;
  if (number == 0) return fail(Errc::malformed, subject, "is empty", kFix);
  if (record.nodes.size() < 2 || record.pods.empty())
    return fail(Errc::out_of_range, subject,
                "has " + std::to_string(record.nodes.size()) + " nodes and " + std::to_string(record.pods.size()) +
                    " pods: no choices to learn from",
                "wait until pods have run and ended; the store must be enabled");
  std::stable_sort(record.pods.begin(), record.pods.end(),
                   [](const RecordedPod& a, const RecordedPod& b) { return a.placed_s < b.placed_s; });
  return std::move(record);
}

namespace {

constexpr std::size_t kExpectedSteps = 65, kDemandSteps = 50, kPastPods = 20;

double mean_cores(const RecordedPod& pod) {
  double sum = 0, known = 0;
  for (const float each : pod.used_cores) {
    if (std::isnan(each)) continue;
    sum += static_cast<double>(each);
    known += 1;
  }
  return known > 0 ? sum / known : 0.5 * pod.request.cpu_cores;
}

// Cores of the pod in each sample of the day, also outside its life, because reordered days run it at another time.
std::array<float, kDaySamples> cores_of(const RecordedPod& pod, double from_s) {
  std::array<float, kDaySamples> cores{};
  const double first_s = pod.placed_s - std::fmod(pod.placed_s, kHour_s), mean = mean_cores(pod);
  for (std::size_t k = 0; k < kDaySamples; ++k) {
    const double hour = std::floor((from_s + kSample_s * static_cast<double>(k) - first_s) / kHour_s);
    const bool lived = hour >= 0 && hour < static_cast<double>(pod.used_cores.size());
    const float used = lived ? pod.used_cores[static_cast<std::size_t>(hour)] : std::nanf("");
    cores[k] = std::isnan(used) ? static_cast<float>(mean) : used;
  }
  return cores;
}

std::vector<double> quantiles(std::vector<double> values, std::size_t steps, double least) {
  std::sort(values.begin(), values.end());
  std::vector<double> out;
  for (std::size_t i = 0; i < steps; ++i) {
    const std::size_t at = (2 * i + 1) * values.size() / (2 * steps);
    out.push_back(std::max(least, values[std::min(at, values.size() - 1)]));
  }
  return out;
}

// Requested cores at each sample of a period.
std::vector<double> requested_cores(const ClusterRecord& record, double from_s, double to_s) {
  const auto samples = static_cast<std::size_t>((to_s - from_s) / kSample_s);
  std::vector<double> change(samples + 1), out;
  const auto at = [&](double when_s) {
    return static_cast<std::size_t>(std::clamp((when_s - from_s) / kSample_s, 0.0, static_cast<double>(samples)));
  };
  for (const RecordedPod& pod : record.pods) {
    if (pod.placed_s >= to_s || pod.ended_s <= from_s) continue;
    change[at(pod.placed_s)] += pod.request.cpu_cores;
    change[at(std::min(pod.ended_s, to_s))] -= pod.request.cpu_cores;
  }
  double now = 0;
  for (std::size_t k = 0; k < samples; ++k) out.push_back(now += change[k]);
  return out;
}

ServerModel server_of(const RecordedNode& node) {
  ServerModel server;
  server.name = node.name;
  server.cores = node.cores;
  server.memory_bytes = node.memory_bytes;
  server.watts = node.watts;
  if (node.wake_j > 0) server.wake_energy_j = node.wake_j;
  return server;
}

void add_pods(const ClusterRecord& record, double to_s, RecordedDay& day, PodDay& demand) {
  Episode& episode = day.episode;
  double life_s = 0, cores = 0, bytes = 0;
  for (const RecordedPod& pod : record.pods) {
    if (pod.placed_s >= to_s || pod.ended_s <= day.from_s || pod.request.cpu_cores <= 0) continue;
    const double arrived_s = std::max(pod.placed_s, day.from_s);
    // A pod that continues ends an hour after the day, because pods that come and go have an end.
    const double left_s = std::min(pod.ended_s, to_s + kHour_s);
    episode.pods.push_back(
        {pod.app, demand.cores.size(), arrived_s - day.from_s, std::max(1.0, left_s - arrived_s), pod.request});
    day.node_of.push_back(pod.node);
    demand.cores.push_back(cores_of(pod, day.from_s));
    demand.mean_cores.push_back(mean_cores(pod));
    life_s += left_s - pod.placed_s;
    cores += pod.request.cpu_cores;
    bytes += pod.request.memory_bytes;
  }
  const auto count = static_cast<double>(std::max<std::size_t>(1, episode.pods.size()));
  episode.options.life_s = std::max(60.0, life_s / count);
  episode.mean_request = {cores / count, bytes / count};
}

// Adds the pods that ended before the day; for the first days, the day's own pods.
void add_past(const ClusterRecord& record, double to_s, RecordedDay& day) {
  Episode& episode = day.episode;
  for (const double before_s : {day.from_s, to_s}) {
    std::vector<std::size_t> seen(record.apps.size());
    std::vector<double> demand;
    episode.past_pods.clear();
    for (auto pod = record.pods.rbegin(); pod != record.pods.rend(); ++pod) {
      if (pod->ended_s > before_s || pod->request.cpu_cores <= 0 || ++seen[pod->app] > kPastPods) continue;
      episode.past_pods.push_back({pod->app, mean_cores(*pod), pod->ended_s - pod->placed_s, pod->request});
      demand.push_back(mean_cores(*pod));
    }
    if (demand.empty()) demand.push_back(0.5 * episode.mean_request.cpu_cores);
    episode.expected_demand = quantiles(std::move(demand), kDemandSteps, 0);
    if (episode.past_pods.size() >= kPastPods) return;
  }
}

}  // namespace

Result<RecordedDays> days_of(const ClusterRecord& record, const DayOptions& options, const std::string& subject) {
  RecordedDays out;
  const double end_s = std::floor(record.to_s / kHour_s) * kHour_s, first_s = record.pods.front().placed_s;
  for (std::size_t back = options.most; back > 0; --back) {
    RecordedDay day;
    day.from_s = end_s - static_cast<double>(back) * options.day_s;
    if (day.from_s < first_s) continue;  // its beginning was not recorded
    const double to_s = day.from_s + options.day_s;
    Episode& episode = day.episode;
    episode.options.nodes = record.nodes.size();
    episode.options.churn = true;
    episode.options.sleep = options.idle_nodes_sleep;
    episode.options.cluster_model = ClusterModel::pods;
    episode.options.apps = record.apps.size();
    episode.seed = static_cast<std::uint64_t>(day.from_s / kHour_s);
    episode.apps = record.apps;
    for (const RecordedNode& node : record.nodes) episode.servers.push_back(server_of(node));
    auto demand = std::make_unique<PodDay>();
    add_pods(record, to_s, day, *demand);
    if (episode.pods.size() < 2) continue;
    add_past(record, to_s, day);
    const double known_from_s = std::max(first_s, day.from_s - options.day_s);
    episode.expected_cores = quantiles(
        requested_cores(record, known_from_s, std::max(known_from_s + kHour_s, day.from_s)), kExpectedSteps, 1);
    episode.end_s = options.day_s;
    episode.measure_from_s = std::min(4 * kHour_s, options.day_s / 6);
    episode.day = demand.get();
    out.demand.push_back(std::move(demand));
    out.days.push_back(std::move(day));
  }
  if (out.days.size() < 2)
    return fail(Errc::out_of_range, subject,
                "has " + std::to_string(out.days.size()) +
                    " whole days with new pods, but needs one to learn from and one for the evaluation",
                "wait, or write a longer record: wattle model record --since 30d");
  return out;
}

}  // namespace wattle::sim::consolidation
