// Reports the used resources, as text for people and JSON for programs.

#include "common/formatted.hpp"
#include "common/json/value.hpp"
#include "load/resource.hpp"

namespace wattle::load {
namespace {

struct Shown {
  const char* unit;
  double factor;
  int digits;
};

Shown shown(Resource resource) {
  switch (resource) {
    case Resource::cpu:
      return {"cores", 1, 3};
    case Resource::memory:
      return {"MB", 1e-6, 1};
    case Resource::disk:
    case Resource::network:
      break;
  }
  return {"MB/s", 1e-6, 2};
}

std::string name_of(Resource resource) { return std::string(kResourceNames[static_cast<std::size_t>(resource)]); }

}  // namespace

std::string resource_text(const ResourceUse& use) {
  std::string out = formatted("%-10s%12s%12s  %-8s%12s\n", "", "wanted", "reached", "", "CPU used");
  double cpu_cores = 0;
  for (const Reached& each : use.resources) {
    const Shown as = shown(each.resource);
    out += formatted("%-10s%12.*f%12.*f  %-8s%12.3f cores\n", name_of(each.resource).c_str(), as.digits,
                     each.wanted * as.factor, as.digits, each.reached * as.factor, as.unit, each.cpu_cores);
    cpu_cores += each.cpu_cores;
  }
  out += formatted("over %.1f s, %.3f cores in total\n", seconds(use.lasted), cpu_cores);
  for (const Reached& each : use.resources) {
    if (each.resource == Resource::disk && each.storage_bytes_per_s < each.reached / 2)
      out += formatted("only %.2f MB/s reached storage: the folder is in memory or shared (--directory)\n",
                       each.storage_bytes_per_s / 1e6);
    if (each.resource == Resource::network)
      out += "network counts all traffic of the loopback interface, including that of other programs\n";
  }
  return out;
}

std::string resource_json(const ResourceUse& use) {
  OrderedJson out{{"lasted_s", seconds(use.lasted)}};
  for (const Reached& each : use.resources) {
    const char* const unit = each.resource == Resource::cpu      ? "cores"
                             : each.resource == Resource::memory ? "bytes"
                                                                 : "bytes_per_s";
    auto& one = out[name_of(each.resource)];
    one = {{std::string("wanted_") + unit, each.wanted},
           {std::string("reached_") + unit, each.reached},
           {"cpu_cores", each.cpu_cores}};
    if (each.resource == Resource::disk) one["storage_bytes_per_s"] = each.storage_bytes_per_s;
  }
  return out.dump(2) + "\n";
}

std::string resource_line(const ResourceUse& use) {
  std::string out = formatted("%5.0f s", seconds(use.lasted));
  for (const Reached& each : use.resources) {
    const Shown as = shown(each.resource);
    out += formatted(", %s %.*f of %.*f %s", name_of(each.resource).c_str(), as.digits, each.reached * as.factor,
                     as.digits, each.wanted * as.factor, as.unit);
  }
  return out;
}

}  // namespace wattle::load
