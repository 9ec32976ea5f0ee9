// resource: runs stress-ng at given levels of CPU, memory, disk and network for a time, and measures the actual use.
// Source   stress-ng, proc(5) below an injected root
// Units    as levels.hpp
// Errors   not_found (no stress-ng), out_of_range (more than the machine has), unavailable (a process ended by itself;
//          the error has its last output)
// Threads  main thread, before any other starts: it forks
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
  double reached = 0;              // mean since the start; for memory what is held now
  double cpu_cores = 0;            // CPU used to reach it
  double storage_bytes_per_s = 0;  // for disk: what reached storage
};

struct ResourceUse {
  std::vector<Reached> resources;
  Duration lasted{};
};

struct ResourceLoad {
  Levels levels;
  Duration length{};
  std::string directory;  // parent of the folder for written files
  std::string path;       // $PATH, to find stress-ng
  std::string proc = "/proc";
};

// Fails for levels that this machine cannot provide.
Status check_levels(const Levels& levels, double cores, double free_memory_bytes);

// Runs until the time is over or the signal comes, then ends all processes. Calls `reported` every second if set.
Result<ResourceUse> apply_resources(const ResourceLoad& load, const Clock& clock, StopSignal& stop,
                                    const std::function<void(const ResourceUse&)>& reported);

std::string resource_text(const ResourceUse& use);
std::string resource_json(const ResourceUse& use);
std::string resource_line(const ResourceUse& use);

}  // namespace wattle::load
