// packed: converts values to bytes and back, for state that only this program reads after a restart.
// Format   little-endian words of 64 bits (doubles by their bits); a text is a word with its length, then its bytes
// Errors   after a read past the end, or a length that exceeds the remaining bytes, a reader is no longer ok() and
//          returns zeros
// Threads  values
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

namespace wattle::placement {

class PackWriter {
 public:
  void word(std::uint64_t value) {
    for (int byte = 0; byte < 8; ++byte) bytes_.push_back(static_cast<char>(value >> (8 * byte) & 0xffU));
  }
  void real(double value) { word(std::bit_cast<std::uint64_t>(value)); }
  void text(std::string_view value) {
    word(value.size());
    bytes_ += value;
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class PackReader {
 public:
  explicit PackReader(std::string_view bytes) : bytes_(bytes) {}
  std::uint64_t word() {
    if (bytes_.size() < 8) ok_ = false;
    if (!ok_) return 0;
    std::uint64_t value = 0;
    for (int byte = 7; byte >= 0; --byte)
      value = value << 8U | static_cast<unsigned char>(bytes_[static_cast<std::size_t>(byte)]);
    bytes_.remove_prefix(8);
    return value;
  }
  // Must be finite; other values are an error.
  double real() {
    const double value = std::bit_cast<double>(word());
    if (!std::isfinite(value)) ok_ = false;
    return ok_ ? value : 0;
  }
  std::string text() {
    const std::uint64_t size = word();
    if (size > bytes_.size()) ok_ = false;
    if (!ok_) return {};
    std::string value(bytes_.substr(0, static_cast<std::size_t>(size)));
    bytes_.remove_prefix(static_cast<std::size_t>(size));
    return value;
  }
  // Reads a number of elements, each of which takes at least `least` bytes.
  std::size_t count(std::size_t least) {
    const std::uint64_t value = word();
    if (value > bytes_.size() / (least == 0 ? 1 : least)) ok_ = false;
    return ok_ ? static_cast<std::size_t>(value) : 0;
  }
  bool ok() const { return ok_; }
  bool done() const { return ok_ && bytes_.empty(); }
  void refuse() { ok_ = false; }

 private:
  std::string_view bytes_;
  bool ok_ = true;
};

}  // namespace wattle::placement
