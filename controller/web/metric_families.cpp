#include "controller/web/metric_families.hpp"

#include <prometheus/text_serializer.h>

namespace wattle::controller {

std::string Families::text() const { return prometheus::TextSerializer().Serialize(families_); }

}  // namespace wattle::controller
