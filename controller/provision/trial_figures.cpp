#include "controller/provision/trial_figures.hpp"

#include <algorithm>
#include <utility>

namespace wattle::controller {

namespace {

// Reads figures by name; whole() is false if one was missing or out of range.
class Reader {
 public:
  Reader(const Figures& figures, std::string of) : figures_(figures), of_(std::move(of)) {}
  double number(const char* name) {
    const auto found = figures_.find(of_ + name);
    whole_ = whole_ && found != figures_.end() && found->second >= -1e15 && found->second <= 1e15;
    return whole_ ? found->second : 0;
  }
  std::uint64_t count(const char* name) { return static_cast<std::uint64_t>(std::max(0.0, number(name))); }
  bool whole() const { return whole_; }

 private:
  const Figures& figures_;
  const std::string of_;
  bool whole_ = true;
};

}  // namespace

void add_figures(Figures& into, const TrialState& state, const std::string& of) {
  const auto add = [&](const char* name, auto value) { into[of + name] = static_cast<double>(value); };
  add("gated", state.test.network_gated);
  add("evidence", state.test.evidence);
  add("mean", state.test.mean);
  add("mean_square", state.test.mean_square);
  add("blocks", state.test.blocks);
  add("changes", state.test.changes);
  add("rule_minutes", state.rule.minutes);
  add("rule_waste", state.rule.waste);
  add("rule_over", state.rule.over_ratio);
  add("teacher_minutes", state.teacher.minutes);
  add("teacher_waste", state.teacher.waste);
  add("teacher_over", state.teacher.over_ratio);
  add("pairs", state.pairs);
  add("rolled_back", state.rolled_back);
  add("mode", static_cast<int>(state.mode));
}

std::optional<TrialState> state_of(const Figures& figures, const std::string& of) {
  Reader read(figures, of);
  TrialState state;
  state.test = {read.number("gated") > 0,   read.number("evidence"), read.number("mean"),
                read.number("mean_square"), read.count("blocks"),    read.count("changes")};
  state.rule = {read.number("rule_minutes"), read.number("rule_waste"), read.number("rule_over")};
  state.teacher = {read.number("teacher_minutes"), read.number("teacher_waste"), read.number("teacher_over")};
  state.pairs = read.count("pairs");
  state.rolled_back = read.number("rolled_back") > 0;
  state.mode = static_cast<TeacherMode>(std::min<std::uint64_t>(read.count("mode"), 3));
  return read.whole() ? std::optional(state) : std::nullopt;
}

void add_figures(Figures& into, const ReleaseState& state) {
  add_figures(into, state.trial, "student_");
  into["student_version"] = static_cast<double>(state.version);
  into["student_stage"] = static_cast<double>(state.stage);
  into["student_reason"] = static_cast<double>(state.reason);
  into["student_withdrawn"] = static_cast<double>(state.withdrawn);
}

std::optional<ReleaseState> release_of(const Figures& figures) {
  const auto trial = state_of(figures, "student_");
  Reader read(figures, "student_");
  ReleaseState state;
  state.version = read.count("version");
  state.stage = static_cast<stats::NetworkState>(std::min<std::uint64_t>(read.count("stage"), 3));
  state.reason = static_cast<WithdrawnFor>(std::min<std::uint64_t>(read.count("reason"), 3));
  state.withdrawn = read.count("withdrawn");
  if (!trial || !read.whole()) return std::nullopt;
  state.trial = *trial;
  return state;
}

void add_figures(Figures& into, const TrainedFigures& trained) {
  into["student_trained"] = static_cast<double>(trained.version);
  into["student_judged"] = static_cast<double>(trained.agreement.lessons);
  into["student_agreement"] = trained.agreement.student;
  into["student_rule_agreement"] = trained.agreement.rule;
}

TrainedFigures trained_of(const Figures& figures) {
  Reader read(figures, "student_");
  TrainedFigures trained{read.count("trained"),
                         {read.count("judged"), read.number("agreement"), read.number("rule_agreement")}};
  return read.whole() ? trained : TrainedFigures();
}

}  // namespace wattle::controller
