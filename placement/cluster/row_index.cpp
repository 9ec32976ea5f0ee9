#include "placement/cluster/row_index.hpp"

namespace wattle::placement {

std::span<const std::size_t> RowIndex::find(const ClusterView& view, std::span<const std::string> names) {
  last_.resize(names.size(), kNoRow);
  bool fresh = false;
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::size_t& row = last_[i];
    if (row >= view.nodes.size() || view.nodes[row].name != names[i]) row = look_up(view, names[i], fresh);
  }
  return last_;
}

std::size_t RowIndex::look_up(const ClusterView& view, const std::string& name, bool& fresh) {
  for (;;) {
    const auto found = index_.find(name);
    if (found != index_.end() && found->second < view.nodes.size() && view.nodes[found->second].name == name)
      return found->second;
    if (fresh) return kNoRow;
    fresh = true;
    if (!up_to_date(view)) build(view);
  }
}

bool RowIndex::up_to_date(const ClusterView& view) const {
  if (names_.size() != view.nodes.size()) return false;
  for (std::size_t i = 0; i < names_.size(); ++i)
    if (names_[i] != view.nodes[i].name) return false;
  return true;
}

void RowIndex::build(const ClusterView& view) {
  names_.clear();
  index_.clear();
  index_.reserve(view.nodes.size());
  for (std::size_t i = 0; i < view.nodes.size(); ++i) {
    names_.push_back(view.nodes[i].name);
    index_.emplace(view.nodes[i].name, i);
  }
}

}  // namespace wattle::placement
