/* many_cores: a preload library that reports MANY_CORES cores, as a container sees the cores of its host. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int shown(void) {
  const char* text = getenv("MANY_CORES");
  return text ? atoi(text) : 64;
}

long sysconf(int name) {
  static long (*real)(int);
  if (!real) *(void**)&real = dlsym(RTLD_NEXT, "sysconf");
  return name == _SC_NPROCESSORS_ONLN || name == _SC_NPROCESSORS_CONF ? shown() : real(name);
}

int get_nprocs(void) { return shown(); }
int get_nprocs_conf(void) { return shown(); }

int sched_getaffinity(pid_t pid, size_t size, cpu_set_t* set) {
  (void)pid;
  memset(set, 0, size);
  for (int cpu = 0; cpu < shown() && (size_t)cpu < size * 8; ++cpu) CPU_SET_S((size_t)cpu, size, set);
  return 0;
}

int pthread_getaffinity_np(unsigned long thread, size_t size, cpu_set_t* set) {
  (void)thread;
  return sched_getaffinity(0, size, set);
}
