#include "common/owner_name.hpp"

namespace wattle {
namespace {

std::string_view without_suffix(std::string_view name, std::string_view alphabet) {
  const auto dash = name.rfind('-');
  if (dash == std::string_view::npos || dash == 0 || dash + 1 == name.size()) return name;
  return name.find_first_not_of(alphabet, dash + 1) == std::string_view::npos ? name.substr(0, dash) : name;
}

}  // namespace

std::string_view lasting_owner(std::string_view owner) {
  // Kubernetes builds its hashes from an alphabet without vowels.
  if (owner.starts_with("ReplicaSet/")) return without_suffix(owner, "bcdfghjklmnpqrstvwxz2456789");
  if (owner.starts_with("Job/")) return without_suffix(owner, "0123456789");
  return owner;
}

}  // namespace wattle
