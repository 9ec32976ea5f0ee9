// Decides which of several ACPI power meters of a machine are summed and which are parts of others.
// Source   for each meter its label (power1_oem_info, power1_label or power1_model_number), the devices that it
//          measures (the links in measures/), and its current value
// Rules    in this order: a meter of a battery, or of the same devices as an earlier one, is ignored. A meter whose
//          devices are all among another's is a part of that one. A label gives a level: the whole system ("system",
//          "total", "chassis"), its supplies ("PSU", "supply", "feed", or no label), a module ("Module Power Socket
//          0"), a processor with its memory ("Grace Power Socket 0"), a rail ("CPU", "SysIO", "memory", "fan"). The
//          meters of the highest level measure the system and are summed; lower ones are parts. Among meters without
//          labels, one that shows the sum of all others is the whole
//          Rails alone do not measure a system: a "CPU" rail is its package's, the others are parts
// Units    uW
// Threads  pure
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace wattle::agent {

struct PowerMeter {
  std::string label;                  // empty: none
  std::vector<std::string> measures;  // sorted
  bool of_battery = false;
  std::optional<std::uint64_t> shows_uw;
};

enum class MeterRole : std::uint8_t { system, package, part, left_out };

struct MeterPlace {
  MeterRole role = MeterRole::system;
  std::string label;               // unique among the meters; "system" for a single one
  std::optional<unsigned> socket;  // from a label that ends in a socket number

  bool operator==(const MeterPlace&) const = default;
};

// Returns one place for each meter, in the same order.
std::vector<MeterPlace> place_power_meters(const std::vector<PowerMeter>& meters);

}  // namespace wattle::agent
