#include "agent/collect/pcm_answer.hpp"

#include <cctype>
#include <cmath>

#include "common/parse.hpp"

namespace wattle::agent {

namespace {
constexpr std::size_t kMaxDepth = 12, kMaxSockets = 64;
constexpr unsigned kMaxThreads = 1U << 16;

// Parses the document and tracks the position of a value: the names of the enclosing objects; a list has none.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  std::optional<PcmAnswer> read() {
    if (!value({}) || !whole_ || answer_.sockets.empty() || !(answer_.interval_us > 0)) return std::nullopt;
    skip_space();
    if (at_ != text_.size()) return std::nullopt;
    return std::move(answer_);
  }

 private:
  void skip_space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  bool take(char wanted) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  std::optional<std::string_view> string() {
    if (!take('"')) return std::nullopt;
    const std::size_t begin = at_;
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == '\\') {
        ++at_;
        continue;
      }
      if (text_[at_] == '"') return text_.substr(begin, at_++ - begin);
    }
    return std::nullopt;
  }

  bool value(std::string_view name) {
    skip_space();
    if (at_ >= text_.size()) return false;
    if (text_[at_] == '{') return object(name);
    if (depth_ == 0) return false;
    if (text_[at_] == '[') return list(name);
    if (text_[at_] == '"') {
      const auto text = string();
      if (text && name == "Object" && *text == "HyperThread" && socket() != nullptr && socket()->threads < kMaxThreads)
        ++socket()->threads;
      return text.has_value();
    }
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != ',' && text_[at_] != '}' && text_[at_] != ']' &&
           std::isspace(static_cast<unsigned char>(text_[at_])) == 0)
      ++at_;
    if (at_ == begin) return false;
    number(name, parse::real(text_.substr(begin, at_ - begin)));
    return true;
  }

  bool enter(std::string_view name) {
    if (depth_ == kMaxDepth) return false;
    path_[depth_++] = name;
    return true;
  }

  bool object(std::string_view name) {
    if (!take('{') || !enter(name)) return false;
    if (in_sockets()) {
      if (answer_.sockets.size() == kMaxSockets) return false;
      answer_.sockets.emplace_back();
    }
    while (!take('}')) {
      const auto key = string();
      if (!key || !take(':') || !value(*key)) return false;
      if (!take(',') && at_ < text_.size() && text_[at_] != '}') return false;
    }
    if (--depth_ == 0) whole_ = true;
    return true;
  }

  bool list(std::string_view name) {
    if (!take('[') || !enter(name)) return false;
    while (!take(']')) {
      if (!value({})) return false;
      if (!take(',') && at_ < text_.size() && text_[at_] != ']') return false;
    }
    --depth_;
    return true;
  }

  // Returns whether the object being entered is an element of the list of sockets.
  bool in_sockets() const { return depth_ == 3 && path_[1] == "Sockets"; }
  PcmSocket* socket() {
    return depth_ >= 3 && path_[1] == "Sockets" && !answer_.sockets.empty() ? &answer_.sockets.back() : nullptr;
  }

  void number(std::string_view name, std::optional<double> value) {
    if (!value) return;  // nan, inf, true
    if (depth_ == 1 && name == "Interval us") answer_.interval_us = *value;
    PcmSocket* const one = socket();
    if (one == nullptr) return;
    if (depth_ == 3 && name == "Socket ID" && *value >= 0 && *value < 65536) one->id = static_cast<unsigned>(*value);
    if (*value < 0) return;
    if (depth_ == 5 && path_[3] == "Uncore" && path_[4] == "Uncore Counters") uncore(*one, name, *value);
    if (depth_ == 5 && path_[3] == "Core Aggregate" && path_[4] == "Core Counters") core(*one, name, *value);
  }

  static void uncore(PcmSocket& socket, std::string_view name, double value) {
    if (name == "Package Joules Consumed") socket.package_j = value;
    if (name == "DRAM Joules Consumed") socket.dram_j = value;
    if (name == "DRAM Reads") socket.dram_read_bytes = value;
    if (name == "DRAM Writes") socket.dram_write_bytes = value;
    constexpr std::string_view kState = "CStateResidency[";
    if (!name.starts_with(kState) || !name.ends_with(']')) return;
    const auto index = parse::u64(name.substr(kState.size(), name.size() - kState.size() - 1));
    if (index && *index < socket.package_c_state_ratios.size() && value <= 1)
      socket.package_c_state_ratios[*index] = value;
  }

  static void core(PcmSocket& socket, std::string_view name, double value) {
    if (name == "Clock Unhalted Thread") socket.cycles = value;
    if (name == "Clock Unhalted Ref") socket.reference_cycles = value;
    if (name == "Invariant TSC") socket.tsc_cycles = value;
    if (name == "Core Frequency") socket.frequency_hz = value;
  }

  std::string_view text_;
  std::size_t at_ = 0, depth_ = 0;
  bool whole_ = false;
  std::array<std::string_view, kMaxDepth> path_{};
  PcmAnswer answer_;
};
}  // namespace

std::optional<PcmEndpoint> parse_pcm_endpoint(std::string_view text) {
  if (!text.starts_with("http://")) return std::nullopt;
  text.remove_prefix(7);
  if (text.ends_with('/')) text.remove_suffix(1);
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  const auto port = parse::integer<std::uint16_t>(text.substr(colon + 1));
  std::string_view host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (!port || *port == 0 || host.empty() || host.find_first_of("/?#@ []") != std::string_view::npos)
    return std::nullopt;
  return PcmEndpoint{std::string(host), *port};
}

std::optional<PcmAnswer> parse_pcm(std::string_view json) { return Reader(json).read(); }

std::optional<double> mean_frequency_hz(const PcmSocket& socket, double interval_us) {
  if (socket.frequency_hz) return socket.frequency_hz;
  if (!socket.cycles || !socket.reference_cycles || !socket.tsc_cycles || socket.threads == 0) return std::nullopt;
  if (!(*socket.reference_cycles > 0) || !(interval_us > 0)) return std::nullopt;
  const double frequency_hz =
      *socket.cycles / *socket.reference_cycles * (*socket.tsc_cycles / socket.threads) / (interval_us / 1e6);
  if (!std::isfinite(frequency_hz)) return std::nullopt;
  return frequency_hz;
}

}  // namespace wattle::agent
