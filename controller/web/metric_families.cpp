#include "controller/web/metric_families.hpp"

#include <prometheus/text_serializer.h>

#include <algorithm>

#include "common/former_names.hpp"

namespace wattle::controller {

std::string Families::text() {
  for (const FormerName& each : kFormerMetrics) {
    const auto found =
        std::find_if(families_.begin(), families_.end(), [&](const auto& family) { return family.name == each.now; });
    if (found == families_.end()) continue;
    prometheus::MetricFamily before = *found;
    before.name = each.former;
    before.help = "Former name of " + found->name + ".";
    families_.push_back(std::move(before));
  }
  return prometheus::TextSerializer().Serialize(families_);
}

}  // namespace wattle::controller
