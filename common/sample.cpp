#include "common/sample.hpp"

namespace wattle {

std::string_view to_string(EnergySource source) {
  switch (source) {
    case EnergySource::none:
      return "none";
    case EnergySource::rapl:
      return "rapl";
    case EnergySource::perf:
      return "perf";
    case EnergySource::pcm:
      return "pcm";
    case EnergySource::hwmon:
      return "hwmon";
    case EnergySource::estimated:
      return "estimated";
  }
  return "unknown";
}

std::string_view to_string(WorkloadKind kind) {
  switch (kind) {
    case WorkloadKind::pod:
      return "pod";
    case WorkloadKind::service:
      return "service";
    case WorkloadKind::vm:
      return "vm";
    case WorkloadKind::other:
      return "other";
  }
  return "unknown";
}

}  // namespace wattle
