#include "agent/bpf/cgroup_sweep.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <cgroup_sweep.skel.h>
#include <cgroup_sweep_by_cgroup.skel.h>
#include <fcntl.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <utility>

#include "agent/bpf/mapped.hpp"

namespace wattle::agent {

namespace {
constexpr const char* kSubject = "BPF program cgroup_sweep";

std::size_t page_bytes() {
  const long bytes = ::sysconf(_SC_PAGESIZE);
  return bytes > 0 ? static_cast<std::size_t>(bytes) : 4096;
}

Error lost(int error_number, const char* step) {
  Error error = fail_errno(error_number, kSubject).value();
  error.what = std::string(step) + ": " + error.what;
  if (error.code == Errc::denied)
    error.fix = "grant CAP_BPF and CAP_PERFMON";
  else
    error.fix = "needs Linux 6.1 or later with CONFIG_DEBUG_INFO_BTF";
  return error;
}

struct Loaded {
  Fd link, records, seen;
};

template <class Skeleton>
Result<Loaded> load_as(Skeleton* (*open)(), int (*load)(Skeleton*), void (*destroy)(Skeleton*), const Dir& top,
                       std::size_t capacity) {
  const std::unique_ptr<Skeleton, void (*)(Skeleton*)> skeleton(open(), destroy);
  if (!skeleton) return tl::unexpected<Error>(lost(errno, "open"));
  bpf_map__set_max_entries(skeleton->maps.records, static_cast<std::uint32_t>(capacity));
  if (const int failed = load(skeleton.get()); failed != 0) return tl::unexpected<Error>(lost(-failed, "load"));
  bpf_iter_link_info info{};
  info.cgroup.order = BPF_CGROUP_ITER_DESCENDANTS_PRE;
  info.cgroup.cgroup_fd = static_cast<std::uint32_t>(top.fd());
  bpf_iter_attach_opts options{};
  options.sz = sizeof(options);
  options.link_info = &info;
  options.link_info_len = sizeof(info);
  const std::unique_ptr<bpf_link, int (*)(bpf_link*)> link(
      bpf_program__attach_iter(skeleton->progs.sweep_cgroups, &options), bpf_link__destroy);
  if (!link) return tl::unexpected<Error>(lost(errno, "attach"));
  Loaded loaded{kept(bpf_link__fd(link.get())), kept(bpf_map__fd(skeleton->maps.records)),
                kept(bpf_map__fd(skeleton->maps.seen))};
  if (!loaded.link.valid() || !loaded.records.valid() || !loaded.seen.valid())
    return tl::unexpected<Error>(lost(errno, "keep"));
  return loaded;
}

// Each kernel has one of the two flush functions; the object with the other one fails to load.
Result<Loaded> load(const Dir& top, std::size_t capacity) {
  auto loaded = load_as(cgroup_sweep__open, cgroup_sweep__load, cgroup_sweep__destroy, top, capacity);
  if (loaded || loaded.error().code == Errc::denied) return loaded;
  return load_as(cgroup_sweep_by_cgroup__open, cgroup_sweep_by_cgroup__load, cgroup_sweep_by_cgroup__destroy, top,
                 capacity);
}

}  // namespace

Result<CgroupSweep> CgroupSweep::open_(const Dir& top, std::size_t least_capacity) {
  WATTLE_TRY(CgroupSweep sweep, with_capacity(top, least_capacity));
  const auto first = sweep.read();
  const std::size_t found = *sweep.count_;
  if (first ? 2 * found <= least_capacity : first.error().code != Errc::out_of_range) {
    if (!first) return tl::unexpected<Error>(first.error());
    return sweep;
  }
  return with_capacity(top, 2 * found);
}

Result<CgroupSweep> CgroupSweep::with_capacity(const Dir& top, std::size_t capacity) {
  const auto before = libbpf_set_print(nullptr);
  auto loaded = load(top, capacity);
  libbpf_set_print(before);
  ::malloc_trim(0);  // the kernel's types take megabytes, and are needed only for loading
  if (!loaded) return forward_error(loaded);
  CgroupSweep sweep(std::move(loaded->link), std::move(loaded->records), std::move(loaded->seen), capacity);
  void* count = ::mmap(nullptr, page_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, sweep.seen_.get(), 0);
  if (count == MAP_FAILED) return tl::unexpected<Error>(lost(errno, "map"));
  sweep.count_ = static_cast<std::uint64_t*>(count);
  return sweep;
}

CgroupSweep::CgroupSweep(Fd link, Fd records, Fd seen, std::size_t capacity)
    : link_(std::move(link)), records_(std::move(records)), seen_(std::move(seen)), capacity_(capacity) {}

CgroupSweep::CgroupSweep(CgroupSweep&& other) noexcept
    : link_(std::move(other.link_)),
      records_(std::move(other.records_)),
      seen_(std::move(other.seen_)),
      capacity_(other.capacity_),
      count_(std::exchange(other.count_, nullptr)),
      mapped_(std::exchange(other.mapped_, nullptr)),
      mapped_bytes_(std::exchange(other.mapped_bytes_, 0)) {}

CgroupSweep::~CgroupSweep() {
  unmap();
  if (count_ != nullptr) ::munmap(count_, page_bytes());
}

void CgroupSweep::unmap() {
  if (mapped_ != nullptr) ::munmap(const_cast<cgroup_record*>(mapped_), mapped_bytes_);
  mapped_ = nullptr;
  mapped_bytes_ = 0;
}

// Every mapped page counts as resident, so this maps the current number of cgroups plus a quarter.
Status CgroupSweep::map_records(std::size_t count) {
  if (count * sizeof(cgroup_record) <= mapped_bytes_) return {};
  unmap();
  const auto pages = [](std::size_t records) {
    const std::size_t page = page_bytes();
    return (records * sizeof(cgroup_record) + page - 1) / page * page;
  };
  const std::size_t bytes = std::min(pages(count + count / 4), pages(capacity_));
  void* mapped = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, records_.get(), 0);
  if (mapped == MAP_FAILED) return tl::unexpected<Error>(lost(errno, "map"));
  mapped_ = static_cast<const cgroup_record*>(mapped);
  mapped_bytes_ = bytes;
  return {};
}

Result<std::span<const cgroup_record>> CgroupSweep::read() {
  const Fd iterator(bpf_iter_create(link_.get()));
  if (!iterator.valid()) return tl::unexpected<Error>(lost(errno, "iterate"));
  *count_ = 0;
  std::array<char, 64> nothing;  // unused: the program writes only to its maps
  for (;;) {
    const ssize_t n = ::read(iterator.get(), nothing.data(), nothing.size());
    if (n == 0) break;
    if (n < 0 && errno == EINTR && *count_ == 0) continue;
    if (n < 0) return tl::unexpected<Error>(lost(errno, "read"));
  }
  const std::size_t count = *static_cast<volatile std::uint64_t*>(count_);
  if (count > capacity_)
    return fail(Errc::out_of_range, kSubject, std::to_string(count) + " cgroups exceed the size of its map",
                "restart the agent: it sizes the map for twice the current number of cgroups");
  WATTLE_CHECK(map_records(count));
  return std::span<const cgroup_record>(mapped_, count);
}

Finding finding_of(const Result<CgroupSweep>& sweep, const Dir& top) {
  const auto controllers = top.read_file("cgroup.controllers");
  std::string missing;
  for (const std::string_view name : {"memory", "pids"})
    if (!controllers || (" " + *controllers).find(" " + std::string(name)) == std::string::npos)
      missing += (missing.empty() ? "" : " and ") + std::string(name);
  if (sweep && !missing.empty())
    return {"cgroup-sweep", false, true,
            "CPU time and pressure of all cgroups in one read, without " + missing + ": " + top.path() +
                "/cgroup.controllers has none",
            "see the lines cgroup-memory and cgroup-pids"};
  if (sweep) return usable("cgroup-sweep", "CPU time, memory, pids and pressure of all cgroups in one read");
  Finding finding = lost("cgroup-sweep", sweep.error());
  finding.why += "; the agent reads files instead";
  return finding;
}

}  // namespace wattle::agent
