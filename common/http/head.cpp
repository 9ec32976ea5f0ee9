#include "common/http/head.hpp"

#include <algorithm>

#include "common/parse.hpp"

namespace wattle::http {
namespace {

constexpr std::string_view kEnd = "\r\n\r\n";

// Checks that carriage returns and line feeds occur only in pairs.
bool has_sound_lines(std::string_view head) {
  for (std::size_t i = 0; i < head.size(); ++i) {
    if (head[i] == '\0') return false;
    if (head[i] == '\r' && (i + 1 == head.size() || head[i + 1] != '\n')) return false;
    if (head[i] == '\n' && (i == 0 || head[i - 1] != '\r')) return false;
  }
  return true;
}

}  // namespace

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::optional<std::size_t> head_bytes(std::string_view bytes) {
  const auto end = bytes.find(kEnd);
  return end == std::string_view::npos ? std::nullopt : std::optional(end + kEnd.size());
}

std::optional<std::string> wrong_with(std::string_view head) {
  if (!has_sound_lines(head)) return "a header line does not end in CR LF or contains a zero byte";
  if (head.find("\r\n ") != std::string_view::npos || head.find("\r\n\t") != std::string_view::npos)
    return "a header field continues on a second line (obs-fold)";
  const auto first_end = head.find("\r\n");
  const bool asks_host = head.substr(0, first_end).ends_with("HTTP/1.1");
  int hosts = 0, encodings = 0;
  bool lengths = false;
  std::optional<std::string> wrong;
  for (std::string_view rest = head.substr(std::min(head.size(), first_end + 2)); !rest.empty();) {
    const auto end = rest.find("\r\n");
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 2);
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) continue;  // the parser reports it
    const std::string name = lower_case(line.substr(0, colon)), value = lower_case(parse::trim(line.substr(colon + 1)));
    hosts += name == "host" ? 1 : 0;
    lengths = lengths || name == "content-length";
    if (name == "transfer-encoding" && (++encodings > 1 || value != "chunked"))
      wrong = "Transfer-Encoding is not only chunked";
    if (name == "te" && value.find("chunked") != std::string::npos) wrong = "TE contains chunked, which is not allowed";
  }
  if (wrong) return wrong;
  if (encodings > 0 && (lengths || !asks_host)) return "Transfer-Encoding needs HTTP/1.1 and no Content-Length";
  if (hosts > 1) return "the request has more than one Host header";
  if (hosts == 0 && asks_host) return "the request has no Host header";
  return std::nullopt;
}

}  // namespace wattle::http
