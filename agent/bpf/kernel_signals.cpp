#include "agent/bpf/kernel_signals.hpp"

#include <malloc.h>
#include <unistd.h>

#include <unordered_map>

#include "agent/bpf/programs.hpp"
#include "agent/collect/cgroup_mount.hpp"
#include "common/parse.hpp"

namespace wattle::agent {

struct KernelSignals::Programs {
  std::optional<SharedTable> table;
  std::optional<SchedProgram> sched;
  std::optional<TcpProgram> tcp;
  std::optional<BlockProgram> block;
  std::optional<SignalSums> sums;
  bool first = true;
  SignalTotals node_reported;
  std::unordered_map<std::uint64_t, SignalTotals> last_totals;  // by root
  std::vector<PackageUse> use;
  PackageUse node_use;
  std::vector<std::uint64_t> use_numbers;     // storage for both
  std::vector<std::size_t> place_of_package;  // physical_package_id by place; empty if an id is too large for an index
  SignalSums::CyclesNow cycles_now;
  std::optional<CpuWatch> watch;

  bool counts_cycles() const { return sched && !sched->cycles.empty() && watch->has_cycles(); }
  // Returns the number of values of one usage.
  std::size_t use_width() const {
    return first || !sched || place_of_package.empty() ? 0 : place_of_package.back() + 1;
  }
  PackageUse fill(KernelValues& out, std::span<std::uint64_t> numbers, const SignalTotals& now,
                  const SignalTotals& last) const;
};

namespace {
const SignalTotals kNothing;
constexpr std::uint64_t kMax_package_id = 256;  // firmware may choose any package numbers

// Differences of whole microseconds, so that rounding does not accumulate.
std::uint64_t gain_us(std::uint64_t before_ns, std::uint64_t now_ns) { return now_ns / 1000 - before_ns / 1000; }

std::uint64_t at(const std::vector<std::uint64_t>& values, std::size_t i) { return i < values.size() ? values[i] : 0; }

template <class Program>
void keep_or_report(std::optional<Program>& out, Result<Program> loaded, const char* source, std::string what,
                    std::vector<Finding>& findings) {
  if (loaded) {
    out.emplace(std::move(*loaded));
    findings.push_back(usable(source, std::move(what)));
  } else {
    findings.push_back(lost(source, loaded.error()));
  }
}

std::optional<std::uint64_t> read_counter(const std::vector<Fd>& counters, std::size_t cpu) {
  std::uint64_t value = 0;
  if (cpu >= counters.size() || !counters[cpu].valid()) return std::nullopt;
  if (::read(counters[cpu].get(), &value, sizeof(value)) != sizeof(value)) return std::nullopt;
  return value;
}
}  // namespace

KernelSignalsOptions signal_options(const AgentConfig& config, const Dir* cgroup_top) {
  KernelSignalsOptions options;
  options.topology = CpuTopology::read_(config.roots);
  options.read_topology = [roots = config.roots] { return CpuTopology::read_(roots); };
  options.near = config.cluster_networks;
  if (cgroup_top == nullptr) return options;
  options.cgroup_fd = cgroup_top->fd();
  const auto stat = cgroup_top->read_file("cgroup.stat");
  options.cgroups = stat ? parse::keyed_u64(*stat, "nr_descendants").value_or(0) : 0;
  return options;
}

std::vector<Finding> examine_kernel_signals(const AgentConfig& config) {
  if (!config.bpf.enabled || config.roots.captured) return {};
  std::vector<Finding> findings;
  const auto top = open_cgroup_root(config.roots);
  KernelSignals::load_(signal_options(config, top ? &*top : nullptr), findings);
  return findings;
}

KernelSignals KernelSignals::load_(const KernelSignalsOptions& options, std::vector<Finding>& findings) {
  auto programs = std::make_unique<Programs>();
  auto table = SharedTable::make_(options.cgroups, options.topology.package_ids.size());
  if (!table) {
    findings.push_back(lost("bpf", table.error()));
    return KernelSignals(std::move(programs));
  }
  programs->table.emplace(std::move(*table));
  keep_or_report(programs->sched, SchedProgram::load_(*programs->table, options), "bpf-sched",
                 "time on CPU and in the run queue at every context switch", findings);
  keep_or_report(programs->tcp, TcpProgram::load_(*programs->table, options), "bpf-tcp",
                 "round-trip times of new connections to peers outside the cluster networks", findings);
  keep_or_report(programs->block, BlockProgram::load_(*programs->table), "bpf-block",
                 "block requests from issue to completion", findings);
  if (programs->sched) {
    const bool cycles = !programs->sched->cycles.empty();
    findings.push_back(
        {"bpf-cycles", cycles, true,
         cycles ? "CPU cycles at every context switch" : "the processor's cycle counter cannot be opened",
         cycles ? ""
                : "virtual machines rarely have one; otherwise grant CAP_PERFMON and set kernel.perf_event_paranoid to "
                  "at most 2"});
    if (cycles)
      programs->cycles_now = [counters = &programs->sched->cycles](std::size_t cpu) {
        return read_counter(*counters, cpu);
      };
  }
  programs->watch.emplace(options.topology, options.read_topology);
  const auto& ids = options.topology.package_ids;
  if (!ids.empty() && ids.back() < kMax_package_id) programs->place_of_package.assign(ids.begin(), ids.end());
  SignalTable view;
  view.buckets = programs->table->buckets.span();
  view.parents = programs->table->parents.span();
  view.counters = programs->table->counters.span();
  if (programs->sched) view.cpus = programs->sched->cpus.span();
  view.packages = programs->table->packages;
  programs->sums.emplace(view);
  ::malloc_trim(0);  // the kernel's types take megabytes, and only loading needs them
  return KernelSignals(std::move(programs));
}

KernelSignals::KernelSignals(std::unique_ptr<Programs> programs) : programs_(std::move(programs)) {}
KernelSignals::KernelSignals(KernelSignals&&) noexcept = default;
KernelSignals& KernelSignals::operator=(KernelSignals&&) noexcept = default;
KernelSignals::~KernelSignals() = default;

bool KernelSignals::any() const { return programs_->sched || programs_->tcp || programs_->block; }

// `numbers` has room for use_width() values of each kind, all zero.
PackageUse KernelSignals::Programs::fill(KernelValues& out, std::span<std::uint64_t> numbers, const SignalTotals& now,
                                         const SignalTotals& last) const {
  out = KernelValues{};
  PackageUse packages;
  if (!first && sched) {
    const bool count_cycles = counts_cycles();
    std::uint64_t on_cpu_us = 0, cycles = 0;
    const std::size_t width = use_width();
    packages.on_cpu_us = numbers.first(width);
    if (count_cycles) packages.cycles = numbers.subspan(width, width);
    for (std::size_t i = 0; i < table->packages; ++i) {
      const auto us = gain_us(at(last.on_cpu_ns, i), at(now.on_cpu_ns, i));
      const auto counted = at(now.cycles, i) - at(last.cycles, i);
      if (width > 0) numbers[place_of_package[i]] = us;
      if (width > 0 && count_cycles) numbers[width + place_of_package[i]] = counted;
      on_cpu_us += us;
      cycles += counted;
    }
    out.on_cpu_us = on_cpu_us;
    if (count_cycles) out.cpu_cycles = cycles;
    out.run_queue_us = gain_us(last.run_delay_ns, now.run_delay_ns);
    out.run_queue_waits = now.waits - last.waits;
  }
  if (!first && tcp) {
    const auto samples = now.srtt_samples - last.srtt_samples;
    out.tcp_srtt_samples = samples;
    if (samples > 0) out.tcp_srtt_us = static_cast<double>(now.srtt_us - last.srtt_us) / static_cast<double>(samples);
  }
  if (!first && block) {
    out.block_io_us = gain_us(last.block_ns, now.block_ns);
    out.block_ios = now.blocks - last.blocks;
  }
  return packages;
}

void KernelSignals::read(const Clock& clock, const RootIndex& roots, bool roots_changed,
                         std::span<const std::uint64_t> stolen_us, NodeValues& node,
                         std::span<WorkloadValues> workloads) {
  if (!any()) return;
  Programs& p = *programs_;
  if (p.sched) p.watch->look(p.sched->cpus.span(), !p.sched->cycles.empty());
  if (!p.watch->knows_packages()) p.place_of_package.clear();
  p.sums->read(static_cast<std::uint64_t>(to_ns(clock.mono())), roots, roots_changed || p.first, p.cycles_now,
               stolen_us);
  const std::size_t step = 2 * p.use_width();
  p.use_numbers.assign(step * (workloads.size() + 1), 0);
  const std::span<std::uint64_t> numbers(p.use_numbers);
  p.node_use = p.fill(node.kernel, numbers.subspan(step * workloads.size()), p.sums->node(), p.node_reported);
  p.node_reported = p.sums->node();
  p.use.resize(workloads.size());
  bool ended = false;
  for (std::size_t i = 0; i < workloads.size(); ++i) {
    const auto id = workloads[i].cgroup_id;
    const auto of_root = numbers.subspan(step * i, step);
    if (const SignalTotals* now = p.sums->root(id)) {
      SignalTotals& last_totals = p.last_totals[id];
      p.use[i] = p.fill(workloads[i].kernel, of_root, *now, last_totals);
      last_totals = *now;
    } else {
      p.use[i] = p.fill(workloads[i].kernel, of_root, kNothing, kNothing);
    }
    ended = ended || workloads[i].ended;
  }
  if (p.first) p.sums->drop_unclaimed();  // from before the first reading
  p.first = false;
  if (!ended) return;
  p.sums->prune(roots);
  std::erase_if(p.last_totals, [&](const auto& one) { return !roots.root_of(one.first); });
}

std::optional<std::uint64_t> KernelSignals::unread_on_cpu_ns(std::uint64_t cgroup_id) const {
  if (!programs_->sums || programs_->first) return std::nullopt;
  return programs_->sums->unread_on_cpu_ns(cgroup_id);
}

const std::optional<Error>& KernelSignals::cpu_problem() const {
  static const std::optional<Error> kNone;
  return programs_->watch ? programs_->watch->problem() : kNone;
}

std::span<const PackageUse> KernelSignals::package_use() const { return programs_->use; }
const PackageUse& KernelSignals::node_package_use() const { return programs_->node_use; }

std::uint64_t KernelSignals::overflows() const {
  if (!programs_->sums) return 0;
  return programs_->sums->overflows() + (programs_->block ? programs_->block->values.span()[0].overflows : 0);
}

}  // namespace wattle::agent
