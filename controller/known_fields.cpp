#include "controller/known_fields.hpp"

#include <algorithm>

#include "common/nearest.hpp"

namespace wattle::controller {

Status check_fields(std::string_view subject, const SortedJson& body, std::span<const std::string_view> known) {
  const std::vector<std::string> names(known.begin(), known.end());
  for (const auto& [name, value] : body.items())
    if (std::find(names.begin(), names.end(), name) == names.end())
      return unknown_name(std::string(subject), "field", name, names);
  return {};
}

tl::unexpected<Error> unknown_name(const std::string& subject, const std::string& kind, const std::string& name,
                                   const std::vector<std::string>& names) {
  const std::string fix = names.empty() ? (subject.empty() ? "the list" : subject) + " has no " + kind + "s"
                                        : "the " + kind + "s of " + subject + " are " + comma_list(names);
  return fail(Errc::malformed, kind + " " + name, "unknown " + kind, did_you_mean(name, names, fix));
}

}  // namespace wattle::controller
