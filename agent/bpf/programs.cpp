#include "agent/bpf/programs.hpp"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include <block.skel.h>
#include <sched.skel.h>
#include <tcp.skel.h>

namespace wattle::agent {

namespace {
constexpr std::uint32_t kMin_bucket_bits = 9;  // 4,096 slots
constexpr std::uint32_t kMax_bucket_bits = 13;

tl::unexpected<Error> fail_bpf(int error_number, const std::string& what, const std::string& capabilities) {
  const int error = std::abs(error_number);
  if (error == EPERM || error == EACCES)
    return fail(Errc::denied, what, std::strerror(error), "grant the agent " + capabilities);
  return fail(Errc::unsupported, what, std::strerror(error), "use a kernel 5.12 or later with CONFIG_DEBUG_INFO_BTF");
}
constexpr const char* kTracing = "CAP_BPF and CAP_PERFMON";
constexpr const char* kSockets = "CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN";

// Frees libbpf's object after loading, with the kernel types that it read; links stay active through their descriptors.
Status keep(std::vector<Fd>& links, bpf_link* link, const std::string& what, const char* capabilities) {
  if (link == nullptr) return fail_bpf(errno, what, capabilities);
  const int fd = ::fcntl(bpf_link__fd(link), F_DUPFD_CLOEXEC, 3);
  const int error = errno;
  bpf_link__destroy(link);
  if (fd < 0) return fail_errno(error, what);
  links.emplace_back(fd);
  return {};
}

Result<Fd> make_array(const char* name, std::size_t value_bytes, std::size_t count) {
  bpf_map_create_opts options{};
  options.sz = sizeof options;
  options.map_flags = BPF_F_MMAPABLE;
  const int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, name, sizeof(std::uint32_t),
                                static_cast<std::uint32_t>(value_bytes), static_cast<std::uint32_t>(count), &options);
  if (fd < 0) return fail_bpf(errno, "BPF array", kTracing);
  return Fd(fd);
}

template <class Maps>
bool share(const SharedTable& table, Maps& maps) {
  return bpf_map__reuse_fd(maps.buckets, table.buckets_fd.get()) == 0 &&
         bpf_map__reuse_fd(maps.parents, table.parents_fd.get()) == 0 &&
         bpf_map__reuse_fd(maps.counters, table.counters_fd.get()) == 0;
}

template <auto Destroy>
struct Destroyer {
  template <class T>
  void operator()(T* skeleton) const {
    Destroy(skeleton);
  }
};
template <class T, auto Destroy>
using Skeleton = std::unique_ptr<T, Destroyer<Destroy>>;

// Opens a cycle counter on each CPU; empty if that fails.
std::vector<Fd> open_cycle_counters(std::size_t cpus) {
  perf_event_attr attributes{};
  attributes.size = sizeof(attributes);
  attributes.type = PERF_TYPE_HARDWARE;
  attributes.config = PERF_COUNT_HW_CPU_CYCLES;
  std::vector<Fd> all;
  bool some = false;
  for (std::size_t cpu = 0; cpu < cpus; ++cpu) {
    const long fd = ::syscall(SYS_perf_event_open, &attributes, -1, static_cast<int>(cpu), -1, PERF_FLAG_FD_CLOEXEC);
    // ENODEV: a CPU that is possible but not online.
    if (fd < 0 && errno != ENODEV) return {};
    some = some || fd >= 0;
    all.emplace_back(static_cast<int>(fd));
  }
  if (!some) all.clear();
  return all;
}

Status walk_all_tasks(bpf_program* program) {
  bpf_link* link = bpf_program__attach_iter(program, nullptr);
  if (link == nullptr) return fail_bpf(errno, "BPF walk over tasks", kTracing);
  const Fd walk(bpf_iter_create(bpf_link__fd(link)));
  const int error = errno;
  bpf_link__destroy(link);
  if (!walk.valid()) return fail_bpf(error, "BPF walk over tasks", kTracing);
  char nothing = 0;
  while (::read(walk.get(), &nothing, 1) > 0) {
  }
  return {};
}

// Before 5.11 the queue was the tracepoint's first argument.
bool queue_is_argument() {
  const std::unique_ptr<btf, Destroyer<btf__free>> types(btf__load_vmlinux_btf());
  if (!types) return false;
  const int id = btf__find_by_name_kind(types.get(), "btf_trace_block_rq_issue", BTF_KIND_TYPEDEF);
  const btf_type* type = id > 0 ? btf__type_by_id(types.get(), static_cast<std::uint32_t>(id)) : nullptr;
  if (type != nullptr) type = btf__type_by_id(types.get(), type->type);
  if (type != nullptr) type = btf__type_by_id(types.get(), type->type);
  return type != nullptr && btf_is_func_proto(type) && btf_vlen(type) > 2;
}

void set_networks(tcp::tcp__rodata& out, const std::vector<IpNetwork>& near) {
  const auto add = [&](const IpNetwork& network) {
    auto& count = network.ipv6 ? out.ipv6_networks : out.ipv4_networks;
    auto& list = network.ipv6 ? out.ipv6 : out.ipv4;
    if (count >= std::size(list)) return;
    std::array<std::uint8_t, 16> mask{};
    for (unsigned bit = 0; bit < network.bits; ++bit)
      mask[bit / 8] = static_cast<std::uint8_t>(mask[bit / 8] | 0x80u >> (bit % 8));
    std::memcpy(list[count].address, network.address.data(), network.address.size());
    std::memcpy(list[count].mask, mask.data(), mask.size());
    ++count;
  };
  for (const char* loopback : {"127.0.0.0/8", "::1/128"}) add(*parse_network(loopback));
  for (const auto& network : near) add(network);
}
}  // namespace

std::uint32_t bucket_bits_for(std::size_t cgroups) {
  const auto buckets = std::bit_ceil(std::max<std::size_t>(3 * cgroups / WATTLE_BUCKET_WAYS, 1));
  return std::clamp(static_cast<std::uint32_t>(std::bit_width(buckets) - 1), kMin_bucket_bits, kMax_bucket_bits);
}

Result<SharedTable> SharedTable::make_(std::size_t cgroups, std::size_t packages) {
  libbpf_set_print(nullptr);  // findings report the error instead
  SharedTable table;
  table.packages = packages;
  table.bucket_bits = bucket_bits_for(cgroups);
  const std::size_t buckets = std::size_t{1} << table.bucket_bits;
  const std::size_t slots = buckets * WATTLE_BUCKET_WAYS;
  const std::size_t counters = packages * (slots + WATTLE_EXTRA_SLOTS);
  WATTLE_TRY(table.buckets_fd, make_array("wattle_buckets", sizeof(wattle_bucket), buckets));
  WATTLE_TRY(table.parents_fd, make_array("wattle_parents", sizeof(wattle_parents), slots));
  WATTLE_TRY(table.counters_fd, make_array("wattle_counters", sizeof(wattle_counters), counters));
  WATTLE_TRY(table.buckets, Mapped<wattle_bucket>::open_(table.buckets_fd.get(), buckets, true));
  WATTLE_TRY(table.parents, Mapped<wattle_parents>::open_(table.parents_fd.get(), slots, false));
  WATTLE_TRY(table.counters, Mapped<wattle_counters>::open_(table.counters_fd.get(), counters, false));
  return table;
}

Result<SchedProgram> SchedProgram::load_(const SharedTable& table, const KernelSignalsOptions& options) {
  const std::string what = "BPF program sched";
  const int possible = libbpf_num_possible_cpus();
  if (possible <= 0) return fail_bpf(possible, what, kTracing);
  const auto cpus = static_cast<std::uint32_t>(possible);
  SchedProgram program;
  program.cycles = open_cycle_counters(cpus);

  const Skeleton<sched, sched__destroy> skeleton(sched__open());
  if (!skeleton) return fail_bpf(errno, what, kTracing);
  skeleton->rodata->bucket_bits = table.bucket_bits;
  skeleton->rodata->count_cycles = !program.cycles.empty();
  bpf_map__set_max_entries(skeleton->maps.cpus, cpus);
  bpf_map__set_max_entries(skeleton->maps.cycle_counters, cpus);
  if (!share(table, skeleton->maps)) return fail_bpf(errno, what, kTracing);
  if (const int error = sched__load(skeleton.get()); error != 0) return fail_bpf(error, what, kTracing);

  WATTLE_TRY(program.cpus, Mapped<wattle_cpu>::open_(bpf_map__fd(skeleton->maps.cpus), cpus, true));
  for (std::size_t cpu = 0; cpu < cpus; ++cpu)
    if (const auto package = options.topology.package(cpu); package < table.packages)
      program.cpus.span()[cpu].package = package;
  if (!program.cycles.empty()) {
    program.cycles_map = Fd(::fcntl(bpf_map__fd(skeleton->maps.cycle_counters), F_DUPFD_CLOEXEC, 3));
    for (std::uint32_t cpu = 0; cpu < cpus; ++cpu) {
      const int fd = program.cycles[cpu].get();
      if (fd >= 0 && bpf_map_update_elem(program.cycles_map.get(), &cpu, &fd, BPF_ANY) != 0)
        return fail_errno(errno, "cycle counter of CPU " + std::to_string(cpu));
    }
  }
  // Attaches new tasks first, then walks the existing ones, then attaches the switches, so that no task is missed.
  WATTLE_CHECK(keep(program.links, bpf_program__attach(skeleton->progs.on_newtask), what, kTracing));
  WATTLE_CHECK(walk_all_tasks(skeleton->progs.walk_tasks));
  WATTLE_CHECK(keep(program.links, bpf_program__attach(skeleton->progs.on_switch), what, kTracing));
  return program;
}

Result<TcpProgram> TcpProgram::load_(const SharedTable& table, const KernelSignalsOptions& options) {
  const std::string what = "BPF program tcp";
  if (options.cgroup_fd < 0)
    return fail(Errc::not_found, what, "no cgroup v2 tree to attach to",
                "mount it, or set root to where the host's /sys is mounted");
  const Skeleton<tcp, tcp__destroy> skeleton(tcp__open());
  if (!skeleton) return fail_bpf(errno, what, kSockets);
  skeleton->rodata->bucket_bits = table.bucket_bits;
  set_networks(*skeleton->rodata, options.near);
  if (!share(table, skeleton->maps)) return fail_bpf(errno, what, kSockets);
  if (const int error = tcp__load(skeleton.get()); error != 0) return fail_bpf(error, what, kSockets);
  TcpProgram program;
  WATTLE_CHECK(
      keep(program.links, bpf_program__attach_cgroup(skeleton->progs.on_socket, options.cgroup_fd), what, kSockets));
  return program;
}

Result<BlockProgram> BlockProgram::load_(const SharedTable& table) {
  const std::string what = "BPF program block";
  const Skeleton<block, block__destroy> skeleton(block__open());
  if (!skeleton) return fail_bpf(errno, what, kTracing);
  skeleton->rodata->bucket_bits = table.bucket_bits;
  skeleton->rodata->queue_is_argument = queue_is_argument();
  if (!share(table, skeleton->maps)) return fail_bpf(errno, what, kTracing);
  if (const int error = block__load(skeleton.get()); error != 0) return fail_bpf(error, what, kTracing);
  BlockProgram program;
  WATTLE_TRY(program.values, Mapped<wattle_block_values>::open_(bpf_map__fd(skeleton->maps.node), 1, false));
  WATTLE_CHECK(keep(program.links, bpf_program__attach(skeleton->progs.on_complete), what, kTracing));
  WATTLE_CHECK(keep(program.links, bpf_program__attach(skeleton->progs.on_issue), what, kTracing));
  return program;
}

}  // namespace wattle::agent
