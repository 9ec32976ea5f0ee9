// shallow_depth: keeps an idle node at the lowest energy settings for a while, and then restores the previous ones.
// Journal  <state_dir>/shallow: the ID of this boot, and of each setting the path, the value found and the value set.
//          It is on disk before the first change, and removed when all values are restored. The constructor restores
//          what a killed process left. A journal that cannot be read stays, and the node is not shallow until it is
//          removed
// Boots    a boot resets most settings and renumbers CPUs, so values of another boot are restored once where they still
//          apply (kexec), and then dropped
// Ends     when the time of the last enter() is over, at demand, at leave(), and with the object
// Demand   half a core more than the node used at enter(), which Wattle expects a pod that requests one core to use
//          (placement, kDemandOfRequest). A node that uses more than that and a twentieth of its cores does not become
//          shallow, nor one that had demand within kQuiet
// Repeats  a value that cannot be restored stays in the journal and is tried again every kTryAgain: a CPU that went
//          offline accepts it once it is online. Until then, that setting is not changed again
// Others   a setting whose value was changed since belongs to the program that changed it, and keeps its value.
//          Values in uW may differ by kRounding_uw, because the kernel rounds them to the package's unit
// Units    cores
// Errors   of enter(): unsupported (no setting can be lower), conflict (demand, or a damaged journal), denied or io
//          with the file
// Threads  single owner
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "agent/roots.hpp"
#include "common/clock.hpp"
#include "common/log.hpp"
#include "common/result.hpp"

namespace wattle::agent {

inline constexpr Duration kTryAgain = std::chrono::seconds(10), kQuiet = std::chrono::minutes(5);
inline constexpr double kDemandCores = 0.5, kMostIdleShare = 0.05;
inline constexpr std::uint64_t kRounding_uw = 1'000'000;

class ShallowDepth {
 public:
  using Write = std::function<Status(const std::string& path, std::string_view value)>;
  // `write` is write_setting; tests refuse values as drivers do.
  ShallowDepth(const Roots& roots, std::string state_dir, const Clock& clock, const Log& log, Write write = {});
  ShallowDepth(const ShallowDepth&) = delete;
  ShallowDepth& operator=(const ShallowDepth&) = delete;
  ~ShallowDepth();

  // Becomes shallow for that time.
  Status enter(Duration time);
  void leave(std::string_view why);
  // Call at each sample; no value: unknown.
  void used(std::optional<double> used_cores, std::optional<double> cores);
  // Call often.
  void step();
  bool active() const { return until_.has_value(); }

 private:
  struct Changed {
    std::string found, set;
  };
  void load();
  Status keep() const;
  Status lower();
  void restore();
  bool is_back(const std::string& below, const Changed& setting);
  std::string file() const { return state_dir_ + "/shallow"; }
  std::string path(const std::string& below) const { return sys_ + "/" + below; }

  const std::string sys_, boot_file_, state_dir_;
  const Clock& clock_;
  const Log& log_;
  const Write write_;
  std::map<std::string, Changed> changed_;  // by path below sys; settings that are not restored yet
  std::string boot_;                        // empty: unknown
  bool damaged_ = false;                    // the journal is
  std::optional<MonoTime> until_;           // no value: not shallow
  MonoTime try_at_{};
  std::optional<MonoTime> demand_at_;
  std::optional<double> used_cores_, cores_;
  double idle_cores_ = 0;  // used at enter()
  bool reported_ = false;  // logged that values are not restored
};

}  // namespace wattle::agent
