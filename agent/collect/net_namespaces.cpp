#include "agent/collect/net_namespaces.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "agent/collect/procfs.hpp"
#include "common/parse.hpp"

namespace wattle::agent {

namespace {
constexpr std::size_t kPidsEach = 3;
constexpr std::uint64_t kAnewEvery =
    20;  // lists: a process id may be reused by then, or a process may have changed its namespace

std::string file_of(std::uint32_t pid) { return std::to_string(pid) + "/net/snmp"; }
}  // namespace

bool shows_processes(const Dir& proc) { return proc.exists(file_of(1)); }

void NetNamespaces::list(const Dir& proc, MonoTime now) {
  listed_ = now;
  const auto entries = proc.list();
  if (!entries) return;
  if (std::exchange(again_, false) || lists_++ % kAnewEvery == 0) looked_.clear();
  std::vector<Pid> there;
  for (const DirEntry& entry : *entries) {
    const auto pid = entry.is_dir ? parse::u64(entry.name) : std::nullopt;
    if (pid && *pid > 0 && *pid <= 0xffffffffU) there.push_back(static_cast<Pid>(*pid));
  }
  std::sort(there.begin(), there.end());
  std::vector<Pid> kept;
  std::set_intersection(looked_.begin(), looked_.end(), there.begin(), there.end(), std::back_inserter(kept));
  to_look_.clear();
  std::set_difference(there.begin(), there.end(), kept.begin(), kept.end(), std::back_inserter(to_look_));
  std::reverse(to_look_.begin(), to_look_.end());  // the oldest first: a pod's oldest process holds its network
  looked_ = std::move(kept);
}

void NetNamespaces::look(const Dir& proc, Pid pid) {
  const auto inode = proc.inode_of(file_of(pid));
  if (!inode) return;
  looked_.insert(std::lower_bound(looked_.begin(), looked_.end(), pid), pid);
  if (*inode == own_inode_) return;
  auto known =
      std::find_if(namespaces_.begin(), namespaces_.end(), [&](const Namespace& each) { return each.inode == *inode; });
  if (known == namespaces_.end()) {
    if (namespaces_.size() >= kMost) return;
    known = namespaces_.insert(namespaces_.end(), Namespace{*inode, {}, 0});
  }
  auto& pids = known->pids;
  if (pids.size() < kPidsEach && std::find(pids.begin(), pids.end(), pid) == pids.end()) pids.push_back(pid);
}

bool NetNamespaces::read_one(const Dir& proc, Namespace& one, std::span<char> scratch) {
  for (; !one.pids.empty(); one.pids.erase(one.pids.begin())) {
    const auto file = proc.open_file(file_of(one.pids.front()));
    struct stat info {};
    if (!file || ::fstat(file->fd(), &info) != 0 || static_cast<std::uint64_t>(info.st_ino) != one.inode) continue;
    const auto text = file->read_once_into(scratch);
    const auto established = text ? parse_snmp(*text) : std::nullopt;
    if (!established) continue;
    one.established = *established;
    return true;
  }
  return false;
}

std::uint64_t NetNamespaces::read(const Dir& proc, const std::string& own_file, MonoTime now, std::span<char> scratch) {
  if (!listed_ || now - *listed_ >= kListEvery) {
    own_inode_ = proc.inode_of(own_file).value_or(0);
    std::erase_if(namespaces_, [&](const Namespace& each) { return each.inode == own_inode_; });
    list(proc, now);
  }
  const std::size_t known = namespaces_.size();
  for (std::size_t i = 0; i < kLooked && !to_look_.empty() && namespaces_.size() < known + kRead; ++i) {
    look(proc, to_look_.back());
    to_look_.pop_back();
  }
  // Reads new namespaces at once, and the others in turn.
  std::size_t left = kRead;
  std::vector<std::size_t> due;
  for (std::size_t i = known; i < namespaces_.size() && left > 0; ++i, --left) due.push_back(i);
  for (std::size_t i = 0; i < known && left > 0; ++i, --left) due.push_back(next_++ % known);
  for (const std::size_t i : due)
    if (!read_one(proc, namespaces_[i], scratch)) again_ = true;
  std::erase_if(namespaces_, [](const Namespace& each) { return each.pids.empty(); });
  std::uint64_t sum = 0;
  for (const Namespace& each : namespaces_) sum += each.established;
  return sum;
}

}  // namespace wattle::agent
