/* sched: counts time on CPU, cycles and time in the run queue per cgroup, at every switch of tasks.
 * Source   tp_btf/sched_switch with prev and next, so that the cgroup is the task's own. At that moment prev's
 *          sum_exec_runtime is up to date, and its run_delay includes the wait before the run that ends now
 * Needs    task storage (5.11), atomics with results (5.12). Storage is created at fork and by a walk over all tasks,
 *          never in the switch: an allocation could wake a thread and take the lock that the switch holds */
#include "agent/bpf/slots.bpf.h"

struct seen {
  __u64 run_delay_ns, exec_ns;
};

struct {
  __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, int);
  __type(value, struct seen);
} tasks SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct wattle_cpu);
} cpus SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, __u32);
} cycle_counters SEC(".maps");

const volatile __u8 count_cycles = false;

static __always_inline void leave(struct wattle_cpu* cpu, struct task_struct* prev, __u64 now, __u64 in_at,
                                  __u64 cycles) {
  if (!in_at) { /* its start was not seen */
    struct cgroup* cgroup = prev->cgroups->dfl_cgrp;
    cpu->slot = slot_of(cgroup, cgroup->kn->id);
  }
  struct wattle_counters* to = counters_of(cpu->slot, cpu->package);
  if (!to) return;
  __u64 exec_ns = now - in_at, delay_ns = 0, run_delay = prev->sched_info.run_delay;
  struct seen* seen = bpf_task_storage_get(&tasks, prev, 0, 0);
  if (seen) {
    __u64 exec = prev->se.sum_exec_runtime;
    exec_ns = exec - seen->exec_ns;
    delay_ns = run_delay - seen->run_delay_ns;
    seen->exec_ns = exec;
    seen->run_delay_ns = run_delay;
  } else if (in_at) {
    delay_ns = run_delay - cpu->run_delay_at_in_ns;
  }
  if (seen || in_at) wattle_add(to->on_cpu_ns, exec_ns);
  wattle_add(to->waits, 1);
  if (delay_ns) wattle_add(to->run_delay_ns, delay_ns);
  if (count_cycles && in_at) wattle_add(to->cycles, cycles - cpu->cycles_at_in);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct* prev, struct task_struct* next) {
  (void)ctx;
  (void)preempt;
  __u32 index = bpf_get_smp_processor_id();
  struct wattle_cpu* cpu = bpf_map_lookup_elem(&cpus, &index);
  if (!cpu) return 0;
  /* Reading the clock is a third of this program's cost if the processor's clock cannot be read directly, so it is read
   * once per tick of the kernel. It is used only for the start time of a task that still runs; at its end the task's own
   * runtime counts. */
  __u64 jiffies = bpf_jiffies64(), cycles = 0;
  if (jiffies != cpu->jiffies) {
    cpu->jiffies = jiffies;
    cpu->now_ns = bpf_ktime_get_ns();
  }
  __u64 now = cpu->now_ns;
  if (count_cycles) {
    struct bpf_perf_event_value value = {};
    if (!bpf_perf_event_read_value(&cycle_counters, BPF_F_CURRENT_CPU, &value, sizeof(value))) cycles = value.counter;
  }
  __u64 in_at = cpu->in_at_ns;
  *(volatile __u64*)&cpu->switches += 1; /* odd: the counters and the other members do not match */
  barrier();
  *(volatile __u64*)&cpu->in_at_ns = 0;
  /* If the start of the leaving task was not seen, the stored slot belongs to another task. */
  if (cpu->pid != (__u64)prev->pid) in_at = 0;
  cpu->pid = (__u64)next->pid;
  if (prev->pid) leave(cpu, prev, now, in_at, cycles);
  if (next->pid) { /* not idle */
    struct cgroup* cgroup = next->cgroups->dfl_cgrp;
    cpu->slot = slot_of(cgroup, cgroup->kn->id);
    cpu->cycles_at_in = cycles;
    cpu->run_delay_at_in_ns = next->sched_info.run_delay;
    *(volatile __u64*)&cpu->in_at_ns = now;
  }
  barrier();
  *(volatile __u64*)&cpu->switches += 1;
  return 0;
}

SEC("tp_btf/task_newtask")
int BPF_PROG(on_newtask, struct task_struct* task) {
  (void)ctx;
  bpf_task_storage_get(&tasks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
  return 0;
}

struct bpf_iter__task {
  struct task_struct* task;
} __attribute__((preserve_access_index));

/* Walks the existing tasks once, before the switches are attached. */
SEC("iter/task")
int walk_tasks(struct bpf_iter__task* context) {
  struct task_struct* task = context->task;
  if (!task) return 0;
  struct seen* seen = bpf_task_storage_get(&tasks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
  if (!seen) return 0;
  seen->exec_ns = task->se.sum_exec_runtime;
  seen->run_delay_ns = task->sched_info.run_delay;
  return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
