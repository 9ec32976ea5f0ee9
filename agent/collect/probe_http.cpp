#include "agent/collect/probe_http.hpp"

#include <algorithm>

namespace wattle::agent {

namespace {
constexpr std::string_view kVersion = "HTTP/1.";
constexpr std::size_t kStatusAt = 9;  // "HTTP/1.1 "
constexpr std::size_t kMinStatusLine = 12;

bool digit(char c) { return c >= '0' && c <= '9'; }

// Checks the available part of a status line.
bool may_be_status_line(std::string_view line) {
  const auto prefix = line.substr(0, kVersion.size());
  if (prefix != kVersion.substr(0, prefix.size())) return false;
  for (std::size_t i = prefix.size(); i < std::min(line.size(), kMinStatusLine + 1); ++i) {
    const char c = line[i];
    if (i == 7 && !digit(c)) return false;
    if (i == 8 && c != ' ') return false;
    if (i == kStatusAt && (c < '1' || c > '5')) return false;
    if (i > kStatusAt && i < kMinStatusLine && !digit(c)) return false;
    if (i == kMinStatusLine && c != ' ') return false;
  }
  return true;
}
}  // namespace

std::string http_request(std::string_view host, std::uint16_t port, std::string_view path) {
  std::string name(host);
  if (name.find(':') != std::string::npos) name = "[" + name + "]";
  if (port != 80) name += ":" + std::to_string(port);
  return "GET " + std::string(path) + " HTTP/1.1\r\nHost: " + name +
         "\r\nUser-Agent: wattle-agent\r\nAccept: */*\r\nConnection: close\r\n\r\n";
}

bool valid_http_path(std::string_view path) {
  return path.starts_with('/') && path.size() <= 1024 &&
         std::all_of(path.begin(), path.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

HttpAnswer judge_http_answer(std::string_view bytes) {
  bytes = bytes.substr(0, kMaxAnswerHead);
  const HttpAnswer unfinished = bytes.size() == kMaxAnswerHead ? HttpAnswer::bad : HttpAnswer::incomplete;
  for (std::string_view rest = bytes;;) {
    const auto end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    if (end != std::string_view::npos && line.ends_with('\r')) line.remove_suffix(1);
    // A CR as the last byte may be the end of the line.
    const std::string_view sure =
        end == std::string_view::npos && line.ends_with('\r') ? line.substr(0, line.size() - 1) : line;
    if (!may_be_status_line(sure)) return HttpAnswer::bad;
    if (end == std::string_view::npos) return unfinished;
    if (line.size() < kMinStatusLine) return HttpAnswer::bad;
    if (line[kStatusAt] == '5') return HttpAnswer::bad;
    if (line[kStatusAt] != '1') return HttpAnswer::good;
    // An interim answer: the next status line follows the empty line.
    rest.remove_prefix(end + 1);
    for (;;) {
      const auto next = rest.find('\n');
      if (next == std::string_view::npos) return unfinished;
      const auto field = rest.substr(0, next);
      rest.remove_prefix(next + 1);
      if (field.empty() || field == "\r") break;
    }
  }
}

}  // namespace wattle::agent
