#include "agent/collect/identity.hpp"

#include <doctest/doctest.h>

#include <rapidcheck.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>

#include "agent/collect/cgroup_mount.hpp"
#include "agent/collect/cgroup_tree.hpp"
#include "common/parse.hpp"
#include "tests/places.hpp"
#include "tree.hpp"

using namespace wattle;
using namespace wattle::agent;

namespace {
const std::string kId = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const std::string kOther = "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210";
const std::string kUid = "a1b2c3d4-0001-4002-8003-123456789abc";
const std::string kUid_ = "a1b2c3d4_0001_4002_8003_123456789abc";
}  // namespace

TEST_CASE("every known form of a cgroup path gives its owner") {
  struct Row {
    std::string path;
    std::optional<Identity> owner;
  };
  const Identity pod{WorkloadKind::pod, kUid, ""}, container{WorkloadKind::pod, kUid, kId};
  const std::string burstable = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + kUid_ + ".slice";
  const std::array rows{
      // systemd driver
      Row{burstable, pod},
      Row{burstable + "/cri-containerd-" + kId + ".scope", container},
      Row{burstable + "/crio-" + kId + ".scope", container},
      Row{burstable + "/docker-" + kId + ".scope", container},
      Row{burstable + "/cri-containerd-" + kId + ".scope/system.slice/x.service", container},
      Row{burstable + "/crio-conmon-" + kId + ".scope", pod},
      Row{"/kubepods.slice/kubepods-pod" + kUid_ + ".slice", pod},
      Row{"/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" + kUid_ + ".slice", pod},
      Row{"/kubepods.slice/kubepods-pod0123456789abcdef0123456789abcdef.slice",
          Identity{WorkloadKind::pod, "0123456789abcdef0123456789abcdef", ""}},
      // cgroupfs driver
      Row{"/kubepods/burstable/pod" + kUid, pod},
      Row{"/kubepods/burstable/pod" + kUid + "/" + kId, container},
      Row{"/kubepods/pod" + kUid + "/crio-" + kId, container},
      Row{"/pod" + kUid, std::nullopt},  // not below a kubelet
      // containerd without the systemd driver
      Row{"/system.slice/containerd.service/kubepods-burstable-pod" + kUid_ + ".slice:cri-containerd:" + kId,
          container},
      // kind
      Row{"/docker/" + kOther + "/kubelet/kubepods/burstable/pod" + kUid + "/" + kId, container},
      Row{"/system.slice/docker-" + kOther + ".scope/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" +
              kUid_ + ".slice/cri-containerd-" + kId + ".scope",
          container},
      // a cluster within a pod: its pods are workloads of their own
      Row{"/kubepods/pod" + kUid + "/" + kId + "/kubelet/kubepods/podffffffff-0001-4002-8003-123456789abc",
          Identity{WorkloadKind::pod, "ffffffff-0001-4002-8003-123456789abc", ""}},
      // without Kubernetes
      Row{"/docker/" + kId, Identity{WorkloadKind::other, kId, kId}},
      Row{"/machine.slice/libpod-" + kId + ".scope", Identity{WorkloadKind::other, kId, kId}},
      Row{"/machine.slice/libpod-conmon-" + kId + ".scope", std::nullopt},
      Row{"/system.slice/crio-conmon-" + kId + ".scope", std::nullopt},
      Row{"/system.slice/conmon-exporter.service", Identity{WorkloadKind::service, "conmon-exporter.service", ""}},
      Row{"/system.slice/system-dbus\\x2d:1.3\\x2dorg.slice/dbus-:1.3-org.freedesktop.problems@0.service",
          Identity{WorkloadKind::service, "dbus-:1.3-org.freedesktop.problems@0.service", ""}},
      Row{"/machine.slice/machine-web.scope/payload/system.slice/x.service",
          Identity{WorkloadKind::other, "machine-web.scope", ""}},
      Row{"/machine.slice/systemd-nspawn@web.service/payload",
          Identity{WorkloadKind::service, "systemd-nspawn@web.service", ""}},
      Row{"/system.slice/ssh.service", Identity{WorkloadKind::service, "ssh.service", ""}},
      Row{"/user.slice/user-1000.slice/user@1000.service/app.slice/x.service",
          Identity{WorkloadKind::service, "user@1000.service", ""}},
      Row{"/user.slice/user-1000.slice/session-2.scope", Identity{WorkloadKind::other, "session-2.scope", ""}},
      Row{"/system.slice/systemd-fsck@dev-disk-by\\x2duuid.service",
          Identity{WorkloadKind::service, "systemd-fsck@dev-disk-by\\x2duuid.service", ""}},
      Row{"/system.slice/var-lib.mount", std::nullopt},
      Row{"/system.slice/dbus.socket", std::nullopt},
      // virtual machines
      Row{"/machine.slice/machine-qemu\\x2d3\\x2dweb\\x2d1.scope/libvirt/emulator",
          Identity{WorkloadKind::vm, "web-1", ""}},
      Row{"/machine/web.libvirt-qemu", Identity{WorkloadKind::vm, "web", ""}},
      Row{"/machine/qemu-2-web-1.libvirt-qemu/vcpu0", Identity{WorkloadKind::vm, "web-1", ""}},
      Row{"/qemu.slice/104.scope", Identity{WorkloadKind::vm, "104", ""}},
      Row{"/lxc/101/ns/system.slice/x.service", Identity{WorkloadKind::other, "101", ""}},
      // no owner
      Row{"/machine/.libvirt-qemu", std::nullopt},
      Row{"/", std::nullopt},
      Row{"", std::nullopt},
      Row{"/kubepods.slice/kubepods-burstable.slice", std::nullopt},
      Row{"/kubepods/burstable/podnot-a-uid", std::nullopt},
      Row{"/system.slice", std::nullopt},
  };
  for (const auto& row : rows) {
    CAPTURE(row.path);
    const auto owner = identify(row.path);
    CHECK(owner.has_value() == row.owner.has_value());
    if (owner && row.owner) {
      CHECK(owner->name == row.owner->name);
      CHECK(owner->container_id == row.owner->container_id);
      CHECK((owner->kind == row.owner->kind));
    }
  }
}

namespace {
struct Captured {
  std::string file, path, kind, name;
};

std::vector<Captured> captured_paths() {
  std::vector<Captured> all;
  const std::filesystem::path folder = tests::source_dir() + "/tests/fixtures/agent/cgroup-paths";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path());
    std::string line;
    while (std::getline(file, line)) {
      if (line.starts_with('#')) continue;
      const auto cells = parse::split(line, '\t');
      REQUIRE_MESSAGE(cells.size() == 3, entry.path().string() << ": " << line);
      all.push_back({entry.path().filename(), std::string(cells[2]), std::string(cells[0]), std::string(cells[1])});
    }
  }
  return all;
}

// The roots on the way to a path, from the top.
std::vector<const CgroupNode*> roots_on(const CgroupNode& top, const std::string& path) {
  std::vector<const CgroupNode*> roots;
  const CgroupNode* node = &top;
  while (node != nullptr) {
    if (node->is_root) roots.push_back(node);
    const CgroupNode* next = nullptr;
    for (const auto& child : node->children)
      if (path == child->path || path.starts_with(child->path + "/")) next = child.get();
    node = next;
  }
  return roots;
}
}  // namespace

TEST_CASE("paths of real machines have the owner of the nearest root of their tree") {
  std::map<std::string, std::unique_ptr<agent::test::Tree>> trees;
  const auto all = captured_paths();
  CHECK(all.size() > 25);
  for (const auto& one : all) {
    auto& tree = trees[one.file];
    if (!tree) tree = std::make_unique<agent::test::Tree>();
    std::filesystem::create_directories(tree->path() + one.path);
  }
  for (const auto& one : all) {
    CAPTURE(one.file);
    CAPTURE(one.path);
    const auto owner = identify(one.path);
    CHECK((owner ? std::string(to_string(owner->kind)) : "-") == one.kind);
    CHECK((owner ? owner->name : "-") == one.name);
    CgroupTree tree = CgroupTree::open_(*Dir::open_(trees[one.file]->path()), {});
    tree.refresh();
    const auto roots = roots_on(tree.top(), one.path);
    CHECK(!roots.empty() == owner.has_value());
    if (owner && !roots.empty()) {
      CHECK(roots.back()->identity->name == one.name);
      CHECK((roots.back()->identity->kind == owner->kind));
    }
  }
}

TEST_CASE("in any tree the nearest root of a path is the owner that follows from the path alone") {
  const bool holds = rc::check("one rule of ownership", [] {
    const auto element = rc::gen::element<std::string>(
        "system.slice", "user.slice", "user@1000.service", "app.slice", "x.service", "a\\x2db.mount", "kubepods",
        "kubepods.slice", "burstable", "kubepods-pod" + kUid_ + ".slice", "pod" + kUid, kId,
        "cri-containerd-" + kOther + ".scope", "crio-conmon-" + kId + ".scope",
        "kubepods-pod" + kUid_ + ".slice:cri-containerd:" + kId, "docker-" + kId + ".scope", "lxc", "lxc.payload.a",
        "101", "qemu.slice", "104.scope", "machine-qemu\\x2d3\\x2dweb.scope", "libvirt", "vcpu0", "\xff:\n");
    const auto paths = *rc::gen::container<std::vector<std::vector<std::string>>>(
        3, rc::gen::resize(6, rc::gen::container<std::vector<std::string>>(element)));
    const agent::test::Tree directory;
    std::vector<std::string> made;
    for (const auto& parts : paths) {
      std::string path;
      for (const auto& part : parts) path += "/" + part;
      std::filesystem::create_directories(directory.path() + path);
      if (!path.empty()) made.push_back(path);
    }
    CgroupTree tree = CgroupTree::open_(*Dir::open_(directory.path()), {});
    tree.refresh();
    for (const auto& path : made) {
      const auto owner = identify(path);
      const auto roots = roots_on(tree.top(), path);
      RC_ASSERT(roots.empty() != owner.has_value());
      if (owner) RC_ASSERT(roots.back()->identity->name == as_utf8(owner->name));
      for (std::size_t i = 1; i < roots.size(); ++i) RC_ASSERT((roots[i]->identity->kind == WorkloadKind::pod));
    }
  });
  CHECK(holds);
}

TEST_CASE("any path can be identified safely") {
  const bool holds = rc::check("identify", [](const std::string& path) {
    if (const auto owner = identify(path)) {
      RC_ASSERT(!owner->name.empty());
      RC_ASSERT(owner->name.find('/') == std::string::npos);
    }
  });
  CHECK(holds);
}

TEST_CASE("invalid escapes are kept") {
  CHECK(unescape_unit("a\\x2db") == "a-b");
  CHECK(unescape_unit("a\\x2") == "a\\x2");
  CHECK(unescape_unit("a\\xzz") == "a\\xzz");
  CHECK(unescape_unit("a\\x2fb\\x00") == "a\\x2fb\\x00");
  CHECK(unescape_unit("\\") == "\\");
}

TEST_CASE("a machine without cgroup2 gets an error with the fix") {
  const agent::test::Tree tree{{"proc/self/mountinfo", "1 2 0:3 / / rw - ext4 /dev/sda rw\n"}};
  const auto root = open_cgroup_root(Roots::below(tree.path()));
  REQUIRE_FALSE(root);
  CHECK(root.error().code == Errc::not_found);
  CHECK_FALSE(root.error().fix.empty());
}
