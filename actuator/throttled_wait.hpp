// throttled_wait: estimates how much of a pressure file's "some" time is caused by a workload's own quota. A throttled
// cgroup's tasks are runnable but do not run, so the kernel counts them as waiting for CPU (kernel/sched/psi.c). A task
// that is throttled during reclaim counts as waiting for memory for that time. Neither is a shortage.
// Source   throttled_usec (v1: throttled_time) and usage, as differences. Both are sums over CPUs, whereas pressure is
//          a mean over CPUs, weighted by how busy each is. The sum is therefore divided by the number of CPUs that were
//          busy or throttled
// Gives    an estimate; correct if the throttled CPUs are idle meanwhile, slightly low otherwise. Callers that
//          subtract it from a pressure clamp at 0
// Units    seconds
// Errors   none: values not above zero count as zero
// Threads  pure function
#pragma once

namespace wattle::actuator {

double throttled_wait_s(double throttled_s, double used_s, double elapsed_s);

}  // namespace wattle::actuator
