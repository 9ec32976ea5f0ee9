// mapped: a BPF array mapped into this process. It stays readable after its descriptor is closed and all capabilities
// are dropped.
// Errors   the kernel's, from open_
// Threads  values; the kernel writes the mapped memory
#pragma once

#include <fcntl.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <span>
#include <utility>

#include "common/dir.hpp"
#include "common/result.hpp"

namespace wattle::agent {

// Duplicates the descriptor, so that it stays open when libbpf closes its own.
inline Fd kept(int fd) { return Fd(::fcntl(fd, F_DUPFD_CLOEXEC, 3)); }

template <class T>
class Mapped {
 public:
  Mapped() = default;
  static Result<Mapped> open_(int map_fd, std::size_t count, bool writable) {
    void* at = ::mmap(nullptr, count * sizeof(T), PROT_READ | (writable ? PROT_WRITE : 0), MAP_SHARED, map_fd, 0);
    if (at == MAP_FAILED) return fail_errno(errno, "BPF array");
    return Mapped(static_cast<T*>(at), count);
  }
  Mapped(Mapped&& other) noexcept : at_(std::exchange(other.at_, nullptr)), count_(std::exchange(other.count_, 0)) {}
  Mapped& operator=(Mapped&& other) noexcept {
    std::swap(at_, other.at_);
    std::swap(count_, other.count_);
    return *this;
  }
  ~Mapped() {
    if (at_ != nullptr) ::munmap(at_, count_ * sizeof(T));
  }
  std::span<T> span() const { return {at_, count_}; }

 private:
  Mapped(T* at, std::size_t count) : at_(at), count_(count) {}
  T* at_ = nullptr;
  std::size_t count_ = 0;
};

}  // namespace wattle::agent
