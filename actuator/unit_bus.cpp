#include "actuator/unit_bus.hpp"

#include <systemd/sd-bus.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <utility>

namespace wattle::actuator {

namespace {
constexpr const char* kSystemdName = "org.freedesktop.systemd1";
constexpr std::size_t kLongestName = 255;

using UnitInterface = std::pair<std::string_view, const char*>;
constexpr std::array kInterfaces{UnitInterface{".service", "org.freedesktop.systemd1.Service"},
                                 UnitInterface{".scope", "org.freedesktop.systemd1.Scope"},
                                 UnitInterface{".slice", "org.freedesktop.systemd1.Slice"}};

struct UnrefBusMessage {
  void operator()(sd_bus_message* message) const { sd_bus_message_unref(message); }
};
using BusMessage = std::unique_ptr<sd_bus_message, UnrefBusMessage>;

struct BusError {
  BusError() = default;
  BusError(const BusError&) = delete;
  BusError& operator=(const BusError&) = delete;
  ~BusError() { sd_bus_error_free(&error); }
  sd_bus_error error{nullptr, nullptr, 0};  // SD_BUS_ERROR_NULL is a C compound literal
};

// Maps error names of systemd and the bus: org.freedesktop.DBus.Error. and org.freedesktop.systemd1.
Errc bus_code(int failed, std::string_view name, bool writes) {
  const auto ends = [&](std::string_view end) { return name.ends_with(end); };
  if (ends(".ServiceUnknown") || ends(".NameHasNoOwner") || ends(".Spawn.ChildExited")) return Errc::unavailable;
  // The request was sent, and its result is unknown.
  if (ends(".NoReply") || ends(".Timeout") || failed == -ETIMEDOUT) return Errc::timeout;
  if (failed == -ECONNRESET || failed == -ENOTCONN || failed == -EPIPE || ends(".Disconnected"))
    return writes ? Errc::timeout : Errc::unavailable;
  if (ends(".NoSuchUnit") || ends(".UnknownObject")) return Errc::not_found;
  if (ends(".AccessDenied") || ends(".InteractiveAuthorizationRequired") || failed == -EACCES || failed == -EPERM)
    return Errc::denied;
  if (ends(".InvalidArgs") || failed == -EINVAL || failed == -ERANGE) return Errc::out_of_range;
  if (ends(".PropertyReadOnly") || ends(".UnknownProperty") || ends(".UnknownInterface") || ends(".UnknownMethod"))
    return Errc::unsupported;
  return Errc::io;
}

std::string bus_fix(Errc code) {
  if (code == Errc::denied) return "run the actuator as root: only root may change units";
  if (code == Errc::unavailable)
    return "check systemd with systemctl status and busctl status org.freedesktop.systemd1";
  return {};
}
}  // namespace

bool is_unit_name(std::string_view name) {
  const bool plain = std::ranges::all_of(name, [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string_view(":-_.\\@").find(static_cast<char>(c)) != std::string_view::npos;
  });
  return plain && name.size() <= kLongestName && std::ranges::any_of(kInterfaces, [&](const UnitInterface& one) {
           return name.size() > one.first.size() && name.ends_with(one.first);
         });
}

void UnitBus::Close::operator()(sd_bus* bus) const { sd_bus_close_unref(bus); }

UnitBus::UnitBus(std::string address, std::chrono::microseconds patience)
    : address_(std::move(address)),
      patience_us_(patience.count() > 0 ? static_cast<std::uint64_t>(patience.count()) : UINT64_MAX) {}

UnitBus::~UnitBus() = default;

tl::unexpected<Error> UnitBus::refused(int failed, const char* name, const char* text, std::string subject,
                                       bool writes) {
  const Errc code = bus_code(failed, name != nullptr ? name : "", writes);
  // Reconnects at the next call; also after a call that may still be answered, so that its answer is not mistaken for
  // another's.
  if (sd_bus_is_open(bus_.get()) <= 0) bus_.reset();
  const std::string what = text != nullptr ? text : std::string(to_string(code));
  return fail(code, std::move(subject), what, bus_fix(code));
}

// Opens a connection if needed, and finds the object path and interface of the unit.
Result<UnitBus::Sought> UnitBus::seek(const std::string& unit) {
  if (!is_unit_name(unit)) return fail(Errc::malformed, unit, "is not the name of a service, scope or slice");
  if (bus_ && sd_bus_is_open(bus_.get()) <= 0) bus_.reset();
  if (!bus_) {
    sd_bus* opened = nullptr;
    int failed = sd_bus_new(&opened);
    std::unique_ptr<sd_bus, Close> bus(opened);
    if (failed >= 0) failed = sd_bus_set_address(bus.get(), address_.c_str());
    if (failed >= 0) failed = sd_bus_set_bus_client(bus.get(), 1);
    if (failed >= 0) failed = sd_bus_start(bus.get());
    if (failed < 0) {
      const auto why = fail_errno(-failed, address_, bus_fix(Errc::unavailable)).value();
      return fail(Errc::unavailable, address_, why.what, why.fix);
    }
    bus_ = std::move(bus);
  }
  Sought out;
  char* path = nullptr;
  if (const int failed = sd_bus_path_encode("/org/freedesktop/systemd1/unit", unit.c_str(), &path); failed < 0)
    return fail_errno(-failed, unit);
  const std::unique_ptr<char, decltype(&std::free)> owned(path, &std::free);
  out.path = path;
  for (const auto& [end, name] : kInterfaces)
    if (unit.ends_with(end)) out.interface = name;
  return out;
}

namespace {
int get_property(sd_bus* bus, const std::string& path, const std::string& interface, const char* property,
                 const char* type, std::uint64_t patience_us, sd_bus_error* error, BusMessage& answer) {
  sd_bus_message *asked = nullptr, *answered = nullptr;
  int failed =
      sd_bus_message_new_method_call(bus, &asked, kSystemdName, path.c_str(), "org.freedesktop.DBus.Properties", "Get");
  const BusMessage question(asked);
  if (failed >= 0) failed = sd_bus_message_append(asked, "ss", interface.c_str(), property);
  if (failed >= 0) failed = sd_bus_call(bus, asked, patience_us, error, &answered);
  answer.reset(answered);
  if (failed >= 0) failed = sd_bus_message_enter_container(answered, 'v', type);
  return failed;
}
}  // namespace

Result<std::string> UnitBus::cgroup_of(const std::string& unit) {
  WATTLE_TRY(const Sought sought, seek(unit));
  BusError error;
  BusMessage answer;
  const char* text = nullptr;
  int failed =
      get_property(bus_.get(), sought.path, sought.interface, "ControlGroup", "s", patience_us_, &error.error, answer);
  if (failed >= 0) failed = sd_bus_message_read_basic(answer.get(), 's', &text);
  if (failed < 0) return refused(failed, error.error.name, error.error.message, unit + " ControlGroup", false);
  return std::string(text);
}

Result<std::uint64_t> UnitBus::read(const std::string& unit, UnitProperty property) {
  WATTLE_TRY(const Sought sought, seek(unit));
  const char* name = kUnitPropertyNames[static_cast<std::size_t>(property)];
  BusError error;
  BusMessage answer;
  std::uint64_t value = 0;
  int failed = get_property(bus_.get(), sought.path, sought.interface, name, "t", patience_us_, &error.error, answer);
  if (failed >= 0) failed = sd_bus_message_read_basic(answer.get(), 't', &value);
  if (failed < 0) return refused(failed, error.error.name, error.error.message, unit + " " + name, false);
  return value;
}

Status UnitBus::write(const std::string& unit, UnitProperty property, std::uint64_t value) {
  WATTLE_CHECK(seek(unit));
  const char* name = kUnitPropertyNames[static_cast<std::size_t>(property)];
  BusError error;
  sd_bus_message *asked = nullptr, *answered = nullptr;
  int failed = sd_bus_message_new_method_call(bus_.get(), &asked, kSystemdName, "/org/freedesktop/systemd1",
                                              "org.freedesktop.systemd1.Manager", "SetUnitProperties");
  const BusMessage question(asked);
  constexpr int kRuntime = 1;
  if (failed >= 0) failed = sd_bus_message_append(asked, "sba(sv)", unit.c_str(), kRuntime, 1, name, "t", value);
  if (failed >= 0) failed = sd_bus_call(bus_.get(), asked, patience_us_, &error.error, &answered);
  const BusMessage answer(answered);
  if (failed < 0)
    return refused(failed, error.error.name, error.error.message, unit + " " + name + "=" + std::to_string(value),
                   true);
  return {};
}

}  // namespace wattle::actuator
