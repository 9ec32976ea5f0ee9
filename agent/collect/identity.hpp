// identity: derives the workload that a cgroup belongs to from only its path.
// Source   the path below the cgroup root. Kubelet: systemd and cgroupfs drivers; containerd, CRI-O, Docker, Podman;
//          kind nesting; libvirt and Proxmox VMs; LXC; systemd units. tests/fixtures/agent/cgroup-paths has real ones
// Gives    pod UID (with dashes), unit, VM or container. No identity: crio-conmon and libpod-conmon outside of pods,
//          *.mount and other units that do no work, and lxc.monitor
// Threads  pure
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/sample.hpp"

namespace wattle::agent {

struct Identity {
  WorkloadKind kind = WorkloadKind::other;
  // Pod UID, unit name as systemd writes it, VM or LXC name; container id for a container without a pod.
  std::string name;
  std::string container_id;  // 64 hex digits; empty: the pod, unit or VM as a whole

  bool operator==(const Identity&) const = default;
};

// Converts a directory's name, which may be any bytes, to UTF-8. The controller refuses a whole batch with other text.
std::string as_utf8(std::string name);

// Decodes systemd's escapes, "\x2d" to "-". Characters that a name cannot contain ('/', control characters) stay
// escaped.
std::string unescape_unit(std::string_view text);

// Returns the container's id in a directory's name: "cri-containerd-<64 hex digits>.scope", "kata_<64 hex digits>".
std::optional<std::string> container_of(std::string_view name);

// Returns the identity of one directory by its own name and its parent's. `in_kubepods`: a directory above belongs to a
// kubelet.
std::optional<Identity> identify_element(std::string_view name, bool in_kubepods, std::string_view parent = {});

bool is_kubepods(std::string_view name);

// Returns the owner of a path: the nearest pod on it, else the outermost unit, VM or container.
std::optional<Identity> identify(std::string_view path);

}  // namespace wattle::agent
