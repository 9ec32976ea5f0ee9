// resource: stress-ng at levels of CPU, memory, disk and network for a time, and what was really used.
// Source   stress-ng, proc(5) below an injected root
// Units    as levels.hpp
// Errors   not_found (no stress-ng), out_of_range (more than the machine has), unavailable (one ended by itself, with its last words)
// Threads  one; before any other: it forks
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/clock.hpp"
#include "common/result.hpp"
#include "common/stop_signal.hpp"
#include "load/levels.hpp"

namespace wattle::load {

struct Reached {
  Resource resource = Resource::cpu;
  double wanted = 0;
  double reached = 0;              // mean since the start; of memory what is held now
  double cpu_cores = 0;            // that doing so took
  double storage_bytes_per_s = 0;  // of disk: what went to storage
};

struct ResourceUse {
  std::vector<Reached> resources;
  Duration lasted{};
};

struct ResourceLoad {
  Levels levels;
  Duration length{};
  std::string directory;  // in which a folder for what is written is made
  std::string path;       // where stress-ng is looked for: $PATH
  std::string proc = "/proc";
};

// Of levels that this machine cannot hold.
Status check_levels(const Levels& levels, double cores, double free_memory_bytes);

// Until the time is over or the signal comes; nothing of it runs any more then. `told` is called each second; may be empty.
Result<ResourceUse> apply_resources(const ResourceLoad& load, const Clock& clock, StopSignal& stop,
                                    const std::function<void(const ResourceUse&)>& told);

std::string resource_text(const ResourceUse& use);
std::string resource_json(const ResourceUse& use);
std::string resource_line(const ResourceUse& use);

}  // namespace wattle::load
