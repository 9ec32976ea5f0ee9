// contestants: the provisioners under evaluation, by name, each with the settings from which the best in hindsight is
// chosen.
// Source   lab/docs/provisioning.md names the paper or program of each, and the omitted parts
// Errors   none
// Threads  pure except for the provisioners made, which have one owner each
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "sim/provision/world.hpp"

namespace wattle::sim::provision {

using Maker = std::function<std::unique_ptr<Provisioner>(std::uint64_t seed)>;

struct Contestant {
  std::string_view name, about, setting;
  std::span<const double> settings;
  // `world` is the world of the evaluation, with any seed. A contestant that learns does so here, on the same trace
  // with its own seeds.
  Maker (*prepare)(const WorldOptions& world, double setting);
};

std::span<const Contestant> contestants();
const Contestant* find_contestant(std::string_view name);

inline constexpr std::string_view kClairvoyant = "clairvoyant";

Maker prepare_vpa(const WorldOptions& world, double ratio);
Maker prepare_k8s_cpu_fast(const WorldOptions& world, double target);
Maker prepare_captain(const WorldOptions& world, double target);
Maker prepare_tower(const WorldOptions& world, double hours);
Maker prepare_students(const WorldOptions& world, double aim_ratio);
Maker prepare_idle(const WorldOptions& world, double);

}  // namespace wattle::sim::provision
