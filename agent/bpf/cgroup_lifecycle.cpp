#include "agent/bpf/cgroup_lifecycle.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <cgroup_lifecycle.skel.h>
#include <fcntl.h>
#include <malloc.h>

#include <cerrno>
#include <cstring>

#include "agent/bpf/cgroup_ended.h"

namespace wattle::agent {

namespace {
tl::unexpected<Error> fail_bpf(int error_number, const char* step) {
  const int error = std::abs(error_number);
  const std::string why = std::string(step) + ": " + std::strerror(error);
  if (error == EPERM || error == EACCES)
    return fail(Errc::denied, "BPF program cgroup_lifecycle", why, "grant CAP_BPF and CAP_PERFMON");
  return fail(Errc::unsupported, "BPF program cgroup_lifecycle", why,
              "use a kernel 5.12 or later with CONFIG_DEBUG_INFO_BTF");
}

int take(void* into, void* data, std::size_t bytes) {
  constexpr std::size_t kHead = offsetof(wattle_cgroup_ended, name);
  if (bytes <= kHead) return 0;
  wattle_cgroup_ended head{};
  std::memcpy(&head, data, kHead);
  const char* name = static_cast<const char*>(data) + kHead;
  static_cast<std::vector<EndedCgroup>*>(into)->push_back(
      {head.id, head.parent, std::string(name, ::strnlen(name, bytes - kHead))});
  return 0;
}
}  // namespace

void CgroupLifecycle::Closer::operator()(ring_buffer* ring) const { ring_buffer__free(ring); }

Result<CgroupLifecycle> CgroupLifecycle::open_(std::uint32_t ring_bytes) {
  libbpf_set_print(nullptr);  // the finding reports the error instead
  CgroupLifecycle lifecycle;
  {
    const std::unique_ptr<cgroup_lifecycle, void (*)(cgroup_lifecycle*)> skeleton(cgroup_lifecycle__open(),
                                                                                  cgroup_lifecycle__destroy);
    if (!skeleton) return fail_bpf(errno, "open");
    bpf_map__set_max_entries(skeleton->maps.ended, ring_bytes);
    if (const int error = cgroup_lifecycle__load(skeleton.get()); error != 0) return fail_bpf(error, "load");
    lifecycle.map_ = kept(bpf_map__fd(skeleton->maps.ended));
    if (!lifecycle.map_.valid()) return fail_bpf(errno, "keep");
    lifecycle.ring_.reset(ring_buffer__new(lifecycle.map_.get(), take, lifecycle.ended_.get(), nullptr));
    if (!lifecycle.ring_) return fail_bpf(errno, "map");
    WATTLE_TRY(lifecycle.lost_, Mapped<std::uint64_t>::open_(bpf_map__fd(skeleton->maps.lost), 1, false));
    const std::unique_ptr<bpf_link, int (*)(bpf_link*)> link(bpf_program__attach(skeleton->progs.on_rmdir),
                                                             bpf_link__destroy);
    if (!link) return fail_bpf(errno, "attach");
    lifecycle.link_ = kept(bpf_link__fd(link.get()));
    if (!lifecycle.link_.valid()) return fail_bpf(errno, "keep");
  }
  ::malloc_trim(0);  // the kernel's types take megabytes, and only loading needs them
  return lifecycle;
}

std::span<const EndedCgroup> CgroupLifecycle::read() {
  ended_->clear();
  ring_buffer__consume(ring_.get());
  return *ended_;
}

Finding finding_of(const Result<CgroupLifecycle>& lifecycle) {
  if (lifecycle) return usable("bpf-lifecycle", "cgroups that exist only between two ticks");
  return lost("bpf-lifecycle", lifecycle.error());
}

}  // namespace wattle::agent
