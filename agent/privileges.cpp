#include "agent/privileges.hpp"

#include <sys/capability.h>
#include <sys/prctl.h>

#include <cerrno>
#include <cstring>
#include <memory>

namespace wattle::agent {

namespace {
struct Free {
  void operator()(void* memory) const { ::cap_free(memory); }
};
using Capabilities = std::unique_ptr<std::remove_pointer_t<cap_t>, Free>;

std::string name_of(cap_value_t capability) {
  const std::unique_ptr<char, Free> name(::cap_to_name(capability));
  return name ? name.get() : std::to_string(capability);
}

std::string joined(const std::vector<std::string>& names) {
  std::string all;
  for (const auto& name : names) all += (all.empty() ? "" : ", ") + name;
  return all;
}

bool has(const Capabilities& all, cap_value_t capability, cap_flag_t flag) {
  cap_flag_value_t value = CAP_CLEAR;
  return all && ::cap_get_flag(all.get(), capability, flag, &value) == 0 && value == CAP_SET;
}
}  // namespace

Privileges read_privileges() {
  Privileges out;
  const Capabilities all(::cap_get_proc());
  for (cap_value_t i = 0; i < ::cap_max_bits(); ++i) {
    if (has(all, i, CAP_EFFECTIVE) || has(all, i, CAP_PERMITTED)) out.held.push_back(name_of(i));
    if (::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, i, 0, 0) == 1) out.ambient.push_back(name_of(i));
    if (::prctl(PR_CAPBSET_READ, i, 0, 0, 0) == 1) out.bounding.push_back(name_of(i));
  }
  out.no_new_privileges = ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
  return out;
}

Result<Privileges> drop_privileges() {
  // Each step may fail; the result is read back at the end.
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  // Dropping from the bounding set needs CAP_SETPCAP. Without it, no_new_privs keeps those capabilities out of reach.
  for (cap_value_t i = 0; i < ::cap_max_bits(); ++i) ::prctl(PR_CAPBSET_DROP, i, 0, 0, 0);
  const Capabilities none(::cap_init());
  if (!none || ::cap_set_proc(none.get()) != 0)
    return fail(Errc::denied, "capabilities", std::string("capset: ") + std::strerror(errno),
                "allow capset in SystemCallFilter of the agent's unit");

  Privileges left = read_privileges();
  if (!left.held.empty() || !left.ambient.empty())
    return fail(Errc::denied, "capabilities", "still held: " + joined(left.held) + joined(left.ambient),
                "report this as a bug");
  if (!left.no_new_privileges)
    return fail(Errc::denied, "no_new_privs", "could not be set", "report this as a bug; kernels since 3.5 support it");
  return left;
}

Finding privileges_finding(const Result<Privileges>& dropped) {
  if (!dropped) return lost("privileges", dropped.error());
  std::string why = "all capabilities dropped";
  if (!dropped->bounding.empty())
    why +=
        "; the bounding set keeps " + std::to_string(dropped->bounding.size()) + ", which no_new_privs makes unusable";
  return usable("privileges", why);
}

}  // namespace wattle::agent
