#include "controller/provision/trial_figures.hpp"

#include <algorithm>
#include <type_traits>

namespace wattle::controller {

namespace {

template <class V>
void fields(V& v, TrialState& of) {
  v("gated", of.test.network_gated);
  v("evidence", of.test.evidence);
  v("mean", of.test.mean);
  v("mean_square", of.test.mean_square);
  v("blocks", of.test.blocks);
  v("changes", of.test.changes);
  v("rule_minutes", of.rule.minutes);
  v("rule_waste", of.rule.waste);
  v("rule_over", of.rule.over_ratio);
  v("teacher_minutes", of.teacher.minutes);
  v("teacher_waste", of.teacher.waste);
  v("teacher_over", of.teacher.over_ratio);
  v("pairs", of.pairs);
  v("rolled_back", of.rolled_back);
  v("mode", of.mode);
}

template <class V>
void fields(V& v, ReleaseState& of) {
  v("version", of.version);
  v("stage", of.stage);
  v("reason", of.reason);
  v("withdrawn", of.withdrawn);
  fields(v, of.trial);
}

template <class V>
void fields(V& v, TrainedFigures& of) {
  v("trained", of.version);
  v("judged", of.agreement.lessons);
  v("agreement", of.agreement.student);
  v("rule_agreement", of.agreement.rule);
}

struct Write {
  Figures& into;
  const std::string of;
  template <class T>
  void operator()(const char* name, const T& value) {
    into[of + name] = static_cast<double>(value);
  }
};

// `whole` is false if a figure was missing or out of range.
struct Read {
  const Figures& figures;
  const std::string of;
  bool whole = true;
  template <class T>
  void operator()(const char* name, T& value) {
    const auto found = figures.find(of + name);
    whole = whole && found != figures.end() && found->second >= -1e15 && found->second <= 1e15;
    if (!whole) return;
    if constexpr (std::is_floating_point_v<T>)
      value = found->second;
    else if constexpr (std::is_same_v<T, bool>)
      value = found->second > 0;
    else  // the enums have four values
      value = static_cast<T>(std::clamp(found->second, 0.0, std::is_enum_v<T> ? 3.0 : 1e15));
  }
};

template <class State>
std::optional<State> read(const Figures& figures, const std::string& of) {
  State state;
  Read visitor{figures, of};
  fields(visitor, state);
  return visitor.whole ? std::optional(state) : std::nullopt;
}

template <class State>
void write(Figures& into, State state, const std::string& of) {
  Write visitor{into, of};
  fields(visitor, state);
}

}  // namespace

void add_figures(Figures& into, const TrialState& state, const std::string& of) { write(into, state, of); }
void add_figures(Figures& into, const ReleaseState& state) { write(into, state, "student_"); }
void add_figures(Figures& into, const TrainedFigures& trained) { write(into, trained, "student_"); }

std::optional<TrialState> state_of(const Figures& figures, const std::string& of) {
  return read<TrialState>(figures, of);
}
std::optional<ReleaseState> release_of(const Figures& figures) { return read<ReleaseState>(figures, "student_"); }
TrainedFigures trained_of(const Figures& figures) {
  return read<TrainedFigures>(figures, "student_").value_or(TrainedFigures());
}

}  // namespace wattle::controller
