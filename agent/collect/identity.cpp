#include "agent/collect/identity.hpp"

#include <algorithm>

#include "common/parse.hpp"

namespace wattle::agent {

namespace {
bool is_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }
bool all_hex(std::string_view text) { return std::all_of(text.begin(), text.end(), is_hex); }

// Returns a pod UID of either spelling with dashes, or the 32 hex digits of a static pod's configuration hash.
std::optional<std::string> pod_uid(std::string_view text) {
  if (text.size() == 32 && all_hex(text)) return std::string(text);
  if (text.size() != 36) return std::nullopt;
  std::string uid(text);
  for (std::size_t i = 0; i < uid.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash && (uid[i] == '_' || uid[i] == '-'))
      uid[i] = '-';
    else if (dash || !is_hex(uid[i]))
      return std::nullopt;
  }
  return uid;
}

}  // namespace

// Returns the id of a container, which has 64 hex digits; shorter ones after a runtime's prefix are not containers.
std::optional<std::string> container_of(std::string_view text) {
  if (text.ends_with(".scope")) text.remove_suffix(6);
  if (text.starts_with("kata_")) text.remove_prefix(5);
  const auto dash = text.rfind('-');
  if (dash != std::string_view::npos) {
    if (text.substr(0, dash).ends_with("conmon")) return std::nullopt;
    text.remove_prefix(dash + 1);
  }
  if (text.size() != 64 || !all_hex(text)) return std::nullopt;
  return std::string(text);
}

namespace {

// Returns the UID in a kubelet's slice name: "kubepods-burstable-pod<uid>.slice", "kubelet-kubepods-pod<uid>.slice".
std::optional<std::string> uid_of_slice(std::string_view name) {
  if (!name.ends_with(".slice")) return std::nullopt;
  name.remove_suffix(6);
  const auto kubepods = name.rfind("kubepods-");
  if (kubepods == std::string_view::npos || (kubepods != 0 && name[kubepods - 1] != '-')) return std::nullopt;
  name.remove_prefix(kubepods + 9);
  for (const std::string_view qos : {"burstable-", "besteffort-", "guaranteed-"})
    if (name.starts_with(qos)) {
      name.remove_prefix(qos.size());
      break;
    }
  if (!name.starts_with("pod")) return std::nullopt;
  return pod_uid(name.substr(3));
}

// Returns the name after libvirt's sequence number: "web" of "qemu-3-web".
std::optional<std::string> behind_number(std::string_view text, std::string_view driver) {
  if (!text.starts_with(driver)) return std::nullopt;
  text.remove_prefix(driver.size());
  const auto dash = text.find('-');
  if (dash == std::string_view::npos || dash + 1 == text.size() || !parse::u64(text.substr(0, dash)))
    return std::nullopt;
  return std::string(text.substr(dash + 1));
}

// Returns the name of a libvirt VM ("qemu-") or container ("lxc-"): "machine-qemu-3-web.scope" with systemd,
// "qemu-3-web.libvirt-qemu" without, "web.libvirt-qemu" by old versions.
std::optional<std::string> libvirt_name(std::string_view name, std::string_view driver, std::string_view suffix) {
  if (name.starts_with("machine-") && name.ends_with(".scope"))
    return behind_number(name.substr(8, name.size() - 14), driver);
  if (name.size() <= suffix.size() || !name.ends_with(suffix)) return std::nullopt;
  name.remove_suffix(suffix.size());
  const auto plain = behind_number(name, driver);
  return plain ? *plain : std::string(name);
}

// Proxmox: /qemu.slice/<vmid>.scope
std::optional<std::string> proxmox_vm(std::string_view name, std::string_view parent) {
  if (parent != "qemu.slice" || !name.ends_with(".scope") || name.size() <= 6) return std::nullopt;
  return std::string(name.substr(0, name.size() - 6));
}

// LXC and Incus: lxc.payload.NAME; LXC 3: lxc.payload/NAME; Proxmox and LXC before: lxc/NAME.
std::optional<std::string> lxc_of(std::string_view name, std::string_view parent) {
  static constexpr std::string_view kPayload = "lxc.payload.";
  if (name.starts_with(kPayload) && name.size() > kPayload.size()) return std::string(name.substr(kPayload.size()));
  if ((parent == "lxc" || parent == "lxc.payload") && !name.empty()) return std::string(name);
  return std::nullopt;
}

bool is_conmon(std::string_view name) { return name.starts_with("crio-conmon-") || name.starts_with("libpod-conmon-"); }
}  // namespace

std::string as_utf8(std::string name) {
  if (parse::is_utf8(name)) return name;
  for (char& c : name)
    if (static_cast<unsigned char>(c) >= 0x80) c = '?';
  return name;
}

std::string unescape_unit(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() && text[i + 1] == 'x') {
      const auto value = parse::integer<unsigned char>(text.substr(i + 2, 2), 16);
      if (value && *value >= ' ' && *value != '/' && *value != 0x7f) {
        plain.push_back(static_cast<char>(*value));
        i += 3;
        continue;
      }
    }
    plain.push_back(text[i]);
  }
  return plain;
}

bool is_kubepods(std::string_view name) {
  return name == "kubepods" || name == "kubepods.slice" || name.ends_with("-kubepods.slice") ||
         name.starts_with("kubepods-");
}

std::optional<Identity> identify_element(std::string_view name, bool in_kubepods, std::string_view parent) {
  const std::string plain = name.find('\\') == std::string_view::npos ? std::string(name) : unescape_unit(name);
  const std::string_view view = plain;
  if (is_conmon(view)) return std::nullopt;

  // If containerd gets a slice but does not use the systemd driver, "<slice>:cri-containerd:<id>" is one directory.
  // Units may have colons too: dbus-:1.3-org.freedesktop.problems@0.service.
  if (const auto parts = parse::split(view, ':'); parts.size() == 3) {
    if (const auto container = container_of(parts[2])) {
      if (auto uid = uid_of_slice(parts[0])) return Identity{WorkloadKind::pod, *uid, *container};
      return Identity{WorkloadKind::other, *container, *container};
    }
  }
  if (auto uid = uid_of_slice(view)) return Identity{WorkloadKind::pod, *uid, ""};
  if (in_kubepods && view.starts_with("pod"))
    if (auto uid = pod_uid(view.substr(3))) return Identity{WorkloadKind::pod, *uid, ""};
  if (auto container = container_of(view)) return Identity{WorkloadKind::other, *container, *container};
  if (auto vm = libvirt_name(view, "qemu-", ".libvirt-qemu")) return Identity{WorkloadKind::vm, *vm, ""};
  if (auto vm = proxmox_vm(view, parent)) return Identity{WorkloadKind::vm, *vm, ""};
  if (auto lxc = libvirt_name(view, "lxc-", ".libvirt-lxc")) return Identity{WorkloadKind::other, *lxc, ""};
  if (auto lxc = lxc_of(name, parent)) return Identity{WorkloadKind::other, *lxc, ""};
  if (view.ends_with(".service")) return Identity{WorkloadKind::service, std::string(name), ""};
  if (view.ends_with(".scope")) return Identity{WorkloadKind::other, std::string(name), ""};
  return std::nullopt;
}

std::optional<Identity> identify(std::string_view path) {
  std::optional<Identity> found;
  bool in_kubepods = false;
  std::string_view parent;
  for (const auto element : parse::split(path, '/')) {
    if (element.empty()) continue;
    auto here = identify_element(element, in_kubepods, parent);
    if (here && here->kind == WorkloadKind::pod)
      found = here;
    else if (here && found && found->kind == WorkloadKind::pod && found->container_id.empty())
      found->container_id = here->container_id;
    else if (here && !found)
      found = here;
    in_kubepods = in_kubepods || is_kubepods(element);
    parent = element;
  }
  return found;
}

}  // namespace wattle::agent
