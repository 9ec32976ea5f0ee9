// metrics_text: Prometheus' text exposition format 0.0.4, line by line.
// Gives    families in the order in which they are begun; label values are escaped, bytes that are not UTF-8 replaced
// Units    micro() writes a whole number of millionths as a decimal number, exactly
// Threads  single owner
#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace wattle::agent {

// Appends `key="value"`, after a comma if there are labels already.
void add_label(std::string& labels, std::string_view key, std::string_view value);

class MetricsText {
 public:
  explicit MetricsText(std::size_t expected_bytes) { text_.reserve(expected_bytes); }

  // Begins the family of the next values; its head is written with the first of them.
  void begin(std::string_view name, std::string_view type, std::string_view help);

  template <class T>
  void value(T number, std::string_view labels = {}, std::string_view more_labels = {}, std::string_view suffix = {}) {
    std::array<char, 32> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    line({digits.data(), static_cast<std::size_t>(end - digits.data())}, labels, more_labels, suffix);
  }
  void micro(std::uint64_t millionths, std::string_view labels = {}, std::string_view more_labels = {},
             std::string_view suffix = {});

  // Write a histogram: the number of values at or below each `bound`, ascending; then the sum and count of all.
  void bucket(double bound, std::uint64_t up_to, std::string_view labels);
  void histogram_end(double sum, std::uint64_t all, std::string_view labels);

  // Writes a family of one value; without samples if the value is unknown.
  template <class T>
  void gauge(std::string_view name, std::string_view help, const std::optional<T>& number) {
    begin(name, "gauge", help);
    if (number) value(*number);
  }
  void counter(std::string_view name, std::string_view help, std::uint64_t number) {
    begin(name, "counter", help);
    value(number);
  }
  void micro_counter(std::string_view name, std::string_view help, const std::optional<std::uint64_t>& millionths) {
    begin(name, "counter", help);
    if (millionths) micro(*millionths);
  }
  std::string take() { return std::move(text_); }

 private:
  void line(std::string_view number, std::string_view labels, std::string_view more_labels, std::string_view suffix);

  std::string text_;
  std::string_view name_, type_, help_;
  bool headed_ = false;
};

}  // namespace wattle::agent
