// throttled_wait: how much of a pressure file's "some" is waiting for a workload's own quota and for nothing else. A task of a throttled
// cgroup is runnable and does not run, so that the kernel counts it as waiting for CPU (kernel/sched/psi.c); one that is throttled
// while it takes pages back counts as waiting for memory all that time. Neither is a shortage.
// Source   throttled_usec (v1: throttled_time) and usage, as differences; both are sums over CPUs, pressure is their mean,
//          weighed by how busy each is: so the sum is divided by the CPUs that were in use or held up
// Gives    an estimate, right where the CPUs of what is throttled are idle meanwhile, and a little low where they are not; who takes it
//          out of a pressure stops at 0
// Units    seconds
// Errors   none: what is not above zero counts as zero
// Threads  pure function
#pragma once

namespace wattle::actuator {

double throttled_wait_s(double throttled_s, double used_s, double elapsed_s);

}  // namespace wattle::actuator
