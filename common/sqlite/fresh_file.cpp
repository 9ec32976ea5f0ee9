#include "common/sqlite/fresh_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "common/sqlite/record_table.hpp"

namespace wattle::sqlite {
namespace {

constexpr std::uint64_t kAreaBytes = kFreshBytes / 2;
constexpr std::uint64_t kMagic = 0x3148'5346'4c54'5457;

struct Head {
  std::uint64_t magic = kMagic;
  std::uint64_t incarnation = 0, seq = 0, bytes = 0;
  std::int64_t hash = 0;
};

bool follows(const RecordMark& before, const RecordMark& next) {
  return before.incarnation == next.incarnation && before.seq + 1 == next.seq;
}

}  // namespace

Result<FreshFile> FreshFile::open_(const std::string& path) {
  WATTLE_CHECK(check_regular(path));
  Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd.valid()) return fail_errno(errno, path);
  // With its blocks allocated, the file accepts records even while the disk is full.
  if (const int refused = ::posix_fallocate(fd.get(), 0, static_cast<off_t>(kFreshBytes)); refused != 0)
    return fail_errno(refused, path);
  return FreshFile(std::move(fd), path);
}

std::vector<EncodedRecord> FreshFile::frames_of(std::string_view area) const {
  std::vector<EncodedRecord> found;
  while (area.size() >= sizeof(Head)) {
    Head head;
    std::memcpy(&head, area.data(), sizeof head);
    area.remove_prefix(sizeof head);
    if (head.magic != kMagic || head.bytes > area.size()) break;
    const RecordMark mark{head.incarnation, head.seq};
    const std::string_view bytes = area.substr(0, head.bytes);
    // A lower mark is left from an earlier pass over the area.
    if (record_hash(mark, bytes) != head.hash || (!found.empty() && mark <= found.back().mark)) break;
    found.push_back({mark, std::string(bytes)});
    area.remove_prefix(head.bytes);
  }
  return found;
}

Result<std::vector<EncodedRecord>> FreshFile::read() const {
  std::string content(kFreshBytes, '\0');
  for (std::uint64_t at = 0; at < content.size();) {
    const ssize_t n = ::pread(fd_.get(), content.data() + at, content.size() - at, static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(errno, path_);
    if (n == 0) break;
    at += static_cast<std::uint64_t>(n);
  }
  std::vector<EncodedRecord> all = frames_of(std::string_view(content).substr(0, kAreaBytes));
  for (EncodedRecord& record : frames_of(std::string_view(content).substr(kAreaBytes)))
    all.push_back(std::move(record));
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.mark < b.mark; });
  auto first = all.end();
  while (first != all.begin() && (first == all.end() || follows(std::prev(first)->mark, first->mark))) --first;
  all.erase(all.begin(), first);
  return all;
}

bool FreshFile::add(const EncodedRecord& record) {
  const Head head{kMagic, record.mark.incarnation, record.mark.seq, record.bytes.size(),
                  record_hash(record.mark, record.bytes)};
  std::string frame(reinterpret_cast<const char*>(&head), sizeof head);
  frame += record.bytes;
  // The last record is often acknowledged just after the next one is added.
  if (!areas_[at_].free && areas_[1 - at_].free) at_ = 1 - at_;
  Area& area = areas_[at_];
  if (area.free) area.used = 0;
  if (area.used + frame.size() > kAreaBytes) return false;
  const auto begin = static_cast<off_t>(at_ * kAreaBytes + area.used);
  for (std::size_t done = 0; done < frame.size();) {
    const ssize_t n = ::pwrite(fd_.get(), frame.data() + done, frame.size() - done, begin + static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<std::size_t>(n);
  }
  area.used += frame.size();
  area.last = record.mark;
  area.free = false;
  return true;
}

void FreshFile::release(const RecordMark& mark) {
  for (Area& area : areas_) area.free = area.free || area.last <= mark;
}

}  // namespace wattle::sqlite
