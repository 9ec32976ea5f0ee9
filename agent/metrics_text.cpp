#include "agent/metrics_text.hpp"

#include "common/parse.hpp"

namespace wattle::agent {

void add_label(std::string& labels, std::string_view key, std::string_view value) {
  const bool utf8 = parse::is_utf8(value);
  if (!labels.empty()) labels += ',';
  labels.append(key).append("=\"");
  for (const char c : value) {
    if (c == '\\' || c == '"') labels += '\\';
    if (c == '\n')
      labels.append("\\n");
    else
      labels += !utf8 && static_cast<unsigned char>(c) >= 0x80 ? '?' : c;
  }
  labels += '"';
}

void MetricsText::begin(std::string_view name, std::string_view type, std::string_view help) {
  name_ = name;
  type_ = type;
  help_ = help;
  headed_ = false;
}

void MetricsText::micro(std::uint64_t millionths, std::string_view labels, std::string_view more_labels,
                        std::string_view suffix) {
  std::array<char, 32> digits;
  char* end = std::to_chars(digits.data(), digits.data() + digits.size(), millionths / 1'000'000).ptr;
  if (auto rest = static_cast<unsigned>(millionths % 1'000'000); rest != 0) {
    *end++ = '.';
    for (unsigned unit = 100'000; rest != 0; unit /= 10) {
      *end++ = static_cast<char>('0' + rest / unit);
      rest %= unit;
    }
  }
  line({digits.data(), static_cast<std::size_t>(end - digits.data())}, labels, more_labels, suffix);
}

void MetricsText::bucket(double bound, std::uint64_t up_to, std::string_view labels) {
  std::array<char, 32> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), bound, std::chars_format::fixed).ptr;
  std::string le;
  add_label(le, "le", {digits.data(), static_cast<std::size_t>(end - digits.data())});
  value(up_to, labels, le, "_bucket");
}

void MetricsText::histogram_end(double sum, std::uint64_t all, std::string_view labels) {
  value(all, labels, "le=\"+Inf\"", "_bucket");
  value(sum, labels, {}, "_sum");
  value(all, labels, {}, "_count");
}

void MetricsText::line(std::string_view number, std::string_view labels, std::string_view more_labels,
                       std::string_view suffix) {
  if (!headed_) {
    text_.append("# HELP ").append(name_).append(" ").append(help_).append("\n# TYPE ");
    text_.append(name_).append(" ").append(type_).append("\n");
    headed_ = true;
  }
  text_.append(name_).append(suffix);
  if (!labels.empty() || !more_labels.empty()) {
    text_ += '{';
    text_.append(labels);
    if (!labels.empty() && !more_labels.empty()) text_ += ',';
    text_.append(more_labels);
    text_ += '}';
  }
  text_ += ' ';
  text_.append(number);
  text_ += '\n';
}

}  // namespace wattle::agent
