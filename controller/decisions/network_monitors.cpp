#include "controller/decisions/network_monitors.hpp"

#include <utility>

namespace wattle::controller {

void NetworkMonitors::ranking_changed() {
  network_.reset();
  restored_ = false;
}

void NetworkMonitors::judged(const std::string& node, double reward, const std::optional<double>& expected) {
  if (expected) prediction_error_.add(node, reward - *expected);
}

bool NetworkMonitors::look_at(const ServingModel::Serving& serving) {
  if (!engine_.measured()) return false;
  const placement::Candidate served = engine_.trials().serves();
  const ModelVersion& version = serving.trusted != nullptr ? serving.trusted_version : serving.version;
  const std::string& from = version.loaded_from;
  // A number is this controller's own checkpoint, from which the restart continued; a loaded network has a name.
  const bool goes_on = std::exchange(restored_, false) && !from.empty() && from[0] >= '0' && from[0] <= '9';
  if (network_ && !from.empty() && from != network_ && !goes_on)
    for (const placement::Candidate each : {placement::Candidate::baseline, placement::Candidate::learned})
      engine_.trials().forget(each);
  network_ = from;
  return engine_.trials().serves() != served;
}

// The savings of followed and of unfollowed advice are separate figures.
std::string NetworkMonitors::saving_of(const std::string& ranking) const {
  return engine_.shadow().shadow() ? ranking : ranking + " acting";
}

std::vector<MonitorState> NetworkMonitors::rows(const std::string& of) const {
  std::vector<MonitorState> rows{
      {std::string(kCandidatesRow), candidates_text({of, network_.value_or(""), engine_.trials().saved()})}};
  if (const placement::ModelledSaving* saving = engine_.shadow().saving())
    rows.push_back({std::string(kSavingRow), saving_text({saving_of(of), saving->state()})});
  return rows;
}

Status NetworkMonitors::restore(const MonitorState& row, const std::string& of) {
  if (row.name == kSavingRow) {
    WATTLE_TRY(const auto kept, parse_saving(row.text));
    if (kept.of == saving_of(of)) engine_.shadow().restore_saving(kept.state);
  } else if (row.name == kCandidatesRow) {
    WATTLE_TRY(const auto kept, parse_candidates(row.text));
    if (kept.of != of || !engine_.trials().restore(kept.state)) return {};
    network_ = kept.network.empty() ? std::nullopt : std::optional(kept.network);
    restored_ = true;
  }
  return {};
}

}  // namespace wattle::controller
