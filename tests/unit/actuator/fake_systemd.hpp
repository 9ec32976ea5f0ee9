// fake_systemd: the effect of systemd on the limits of units, on the files of a KernelTree, so that several processes
// see one systemd. It keeps a property exactly while it runs, and writes it to a drop-in as systemd 252 does (cgroup.c,
// dbus-cgroup.c): CPUQuota= in whole percents, rounded down; a daemon-reload reads unit file and drop-in again; a value
// that the kernel refuses is only logged.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "actuator/unit_manager.hpp"
#include "kernel_tree.hpp"

namespace wattle::actuator::test {

class FakeSystemd {
 public:
  explicit FakeSystemd(const KernelTree& tree) : tree_(tree) {
    std::filesystem::create_directories(tree.path() + "/units");
    std::filesystem::create_directories(tree.path() + "/run/systemd/system");
    std::filesystem::create_directories(tree.path() + "/run/dbus");
  }
  static std::string cgroup(const std::string& unit) { return "/system.slice/" + unit; }
  std::string control_dir() const { return tree_.path() + "/run/systemd/system.control"; }
  std::string drop_in(const std::string& unit, UnitProperty property) const {
    return control_dir() + "/" + unit + ".d/50-" + setting(property) + ".conf";
  }

  void add(const std::string& unit, std::uint64_t quota, std::uint64_t high) const {
    edit(unit, UnitProperty::quota, quota);
    edit(unit, UnitProperty::high, high);
    edit(unit, UnitProperty::low, 0);
    start(unit);
    reload();
  }
  // Creates its cgroup with the properties that systemd already has.
  void start(const std::string& unit) const {
    tree_.add(cgroup(unit), "max", "0", "max");
    for (const auto property : {UnitProperty::quota, UnitProperty::high, UnitProperty::low})
      bring_into_force(unit, property);
  }
  void stop(const std::string& unit) const { tree_.remove(cgroup(unit)); }
  // An administrator's edit of the unit's own file; in force after a reload.
  void edit(const std::string& unit, UnitProperty property, std::uint64_t value) const {
    overwrite(path("file", unit, property), std::to_string(value));
  }
  void reload() const {
    for (const auto& entry : std::filesystem::directory_iterator(tree_.path() + "/units")) {
      const std::string name = entry.path().filename();
      if (!name.starts_with("file ")) continue;
      const auto property = static_cast<UnitProperty>(name.back() - '0');
      const std::string unit = name.substr(5, name.size() - 7);
      std::string value = text_of(entry.path());
      if (const std::string text = text_of(drop_in(unit, property)); !text.empty()) value = said(text, property);
      overwrite(path("told", unit, property), value);
      bring_into_force(unit, property);
    }
  }
  bool knows(const std::string& unit) const { return std::filesystem::exists(path("told", unit, UnitProperty::quota)); }
  bool runs(const std::string& unit) const { return std::filesystem::exists(tree_.root() + cgroup(unit)); }
  std::uint64_t get(const std::string& unit, UnitProperty property) const {
    return std::stoull(text_of(path("told", unit, property)));
  }
  void set(const std::string& unit, UnitProperty property, std::uint64_t value) const {
    overwrite(path("told", unit, property), std::to_string(value));
    const std::string file = drop_in(unit, property);
    std::filesystem::create_directories(file.substr(0, file.rfind('/')));
    const std::string word = property == UnitProperty::quota
                                 ? (value == kNoLimit ? "" : std::to_string(value / 10'000) + "%")
                                 : (value == kNoLimit ? "infinity" : std::to_string(value));
    overwrite(file,
              "# This is a drop-in unit file extension, created via \"systemctl set-property\"\n"
              "# or an equivalent operation. Do not edit.\n[Service]\n" +
                  std::string(setting(property)) + "=" + word + "\n");
    bring_into_force(unit, property);
  }

 private:
  static const char* setting(UnitProperty property) {
    if (property == UnitProperty::quota) return "CPUQuota";
    return property == UnitProperty::low ? "MemoryLow" : "MemoryHigh";
  }
  std::string path(const char* what, const std::string& unit, UnitProperty property) const {
    return tree_.path() + "/units/" + what + " " + unit + " " + std::to_string(static_cast<int>(property));
  }
  static std::string said(const std::string& drop_in, UnitProperty property) {
    const std::string word = drop_in.substr(drop_in.rfind('=') + 1, drop_in.size() - drop_in.rfind('=') - 2);
    if (word.empty() || word == "infinity") return std::to_string(kNoLimit);
    return property == UnitProperty::quota ? std::to_string(std::stoull(word) * 10'000) : word;
  }
  void bring_into_force(const std::string& unit, UnitProperty property) const {
    if (!runs(unit) || !std::filesystem::exists(path("told", unit, property))) return;
    const std::uint64_t value = get(unit, property);
    const bool quota = property == UnitProperty::quota;
    const std::string word =
        value == kNoLimit ? "max" : std::to_string(quota ? std::max<std::uint64_t>(value / 10, 1'000) : value);
    const Knob memory = property == UnitProperty::low ? Knob::low_bytes : Knob::high_bytes;
    tree_.put(cgroup(unit), quota ? Knob::quota_us : memory, quota ? word + " 100000" : word);
  }
  const KernelTree& tree_;
};

// Behaves as over D-Bus, without one.
class FakeManager : public UnitManager {
 public:
  explicit FakeManager(const FakeSystemd& systemd) : systemd_(systemd) {}
  Result<std::string> cgroup_of(const std::string& unit) override {
    return systemd_.runs(unit) ? FakeSystemd::cgroup(unit) : std::string();
  }
  Result<std::uint64_t> read(const std::string& unit, UnitProperty property) override {
    ++reads;
    if (!systemd_.knows(unit)) return fail(Errc::not_found, unit, "is not known");
    return systemd_.get(unit, property);
  }
  Status write(const std::string& unit, UnitProperty property, std::uint64_t value) override {
    if (!systemd_.knows(unit)) return fail(Errc::not_found, unit, "is not known");
    systemd_.set(unit, property, value);
    return {};
  }
  int reads = 0;

 protected:
  const FakeSystemd& systemd_;
};

}  // namespace wattle::actuator::test
