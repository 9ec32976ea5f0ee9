#include "agent/collect/identity.hpp"

#include <algorithm>
#include <array>

#include "common/parse.hpp"

namespace wattle::agent {

namespace {
bool is_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }
bool all_hex(std::string_view text) { return std::all_of(text.begin(), text.end(), is_hex); }

// A pod UID in either spelling, as one with dashes; or the 32 hex digits of a static pod's configuration hash.
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

// The id of a container: 64 hex digits, or shorter ones behind a runtime's prefix are none of ours.
std::optional<std::string> container_of(std::string_view text) {
  if (text.ends_with(".scope")) text.remove_suffix(6);
  const auto dash = text.rfind('-');
  if (dash != std::string_view::npos) {
    if (text.substr(0, dash).ends_with("conmon")) return std::nullopt;
    text.remove_prefix(dash + 1);
  }
  if (text.size() != 64 || !all_hex(text)) return std::nullopt;
  return std::string(text);
}

// The UID in a kubelet's slice name: "kubepods-burstable-pod<uid>.slice", "kubelet-kubepods-pod<uid>.slice".
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

std::optional<std::string> vm_of(std::string_view name) {
  if (name.size() > 13 && name.ends_with(".libvirt-qemu")) return std::string(name.substr(0, name.size() - 13));
  if (!name.starts_with("machine-qemu-") || !name.ends_with(".scope")) return std::nullopt;
  name.remove_prefix(13);
  name.remove_suffix(6);
  const auto dash = name.find('-');  // behind libvirt's running number
  if (dash == std::string_view::npos || dash + 1 == name.size() || !parse::u64(name.substr(0, dash)))
    return std::nullopt;
  return std::string(name.substr(dash + 1));
}

bool is_conmon(std::string_view name) { return name.find("conmon-") != std::string_view::npos; }
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
      if (const auto value = parse::integer<unsigned char>(text.substr(i + 2, 2), 16)) {
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

std::optional<Identity> identify_element(std::string_view name, bool in_kubepods) {
  const std::string plain = name.find('\\') == std::string_view::npos ? std::string(name) : unescape_unit(name);
  const std::string_view view = plain;
  if (is_conmon(view)) return std::nullopt;

  // containerd told of a slice without the systemd driver: "<slice>:cri-containerd:<id>" is one directory.
  if (const auto colon = view.find(':'); colon != std::string_view::npos) {
    const auto parts = parse::split(view, ':');
    const auto container = container_of(parts.back());
    if (parts.size() != 3 || !container) return std::nullopt;
    if (auto uid = uid_of_slice(parts[0])) return Identity{WorkloadKind::pod, *uid, *container};
    return Identity{WorkloadKind::other, *container, *container};
  }
  if (auto uid = uid_of_slice(view)) return Identity{WorkloadKind::pod, *uid, ""};
  if (in_kubepods && view.starts_with("pod"))
    if (auto uid = pod_uid(view.substr(3))) return Identity{WorkloadKind::pod, *uid, ""};
  if (auto container = container_of(view)) return Identity{WorkloadKind::other, *container, *container};
  if (auto vm = vm_of(view)) return Identity{WorkloadKind::vm, *vm, ""};
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
    if (is_conmon(element)) return std::nullopt;
    auto here = identify_element(element, in_kubepods);
    // Proxmox: /qemu.slice/<vmid>.scope
    if (here && parent == "qemu.slice" && here->kind == WorkloadKind::other && here->name.size() > 6)
      here = Identity{WorkloadKind::vm, here->name.substr(0, here->name.size() - 6), ""};
    if (here && here->kind == WorkloadKind::pod)
      found = here;
    else if (here && found && found->kind == WorkloadKind::pod && !here->container_id.empty())
      found->container_id = here->container_id;
    else if (here && !found)
      found = here;
    in_kubepods = in_kubepods || is_kubepods(element);
    parent = element;
  }
  return found;
}

}  // namespace wattle::agent
