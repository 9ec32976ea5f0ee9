#include "shim/plugin_wire.hpp"

#include <cmath>
#include <optional>
#include <utility>

#include "common/parse.hpp"
#include "common/wire/reader.hpp"

namespace wattle::shim {
namespace {

using wire::Value;
using wire::ValueType;

constexpr wire::Limits kPluginLimits{.message_bytes = kPluginFrameBytes,
                                     .depth = 8,
                                     .text_bytes = 4096,
                                     .body_bytes = kPluginFrameBytes,
                                     .elements = 65536};
constexpr std::size_t kNameBytes = 253;  // a node's name is a DNS subdomain
constexpr std::uint32_t kHead = 3;       // version, kind, request_id

// Reads the fields of one message in order; after a fault, nothing.
class Fields {
 public:
  explicit Fields(std::string_view message) : reader_(message, kPluginLimits) {
    Value start;
    if (!reader_.next(start))
      refuse("message", reader_.problem());
    else if (start.type != ValueType::array || start.size < kHead)
      refuse("message", "is not an array of version, kind and request_id");
    else
      left_ = start.size;
  }
  bool next(const char* name, Value& value) {
    if (error_ || left_ == 0) return false;
    --left_;
    if (reader_.next(value)) return true;
    refuse(name, reader_.problem());
    return false;
  }
  void read(const char* name, std::uint64_t& out) {
    Value value;
    if (!next(name, value)) return;
    if (value.type != ValueType::positive) return refuse(name, "is not a positive number");
    out = value.positive;
  }
  void read(const char* name, double& out) {
    Value value;
    if (!next(name, value)) return;
    const bool number = value.type == ValueType::positive || value.type == ValueType::real;
    const double found = value.type == ValueType::real ? value.real : static_cast<double>(value.positive);
    if (!number || !std::isfinite(found) || found < 0) return refuse(name, "is not a finite number of at least 0");
    out = found;
  }
  void read(const char* name, std::string& out) {
    Value value;
    if (!next(name, value)) return;
    if (value.type != ValueType::text) return refuse(name, "is not a text");
    out = value.text;
  }
  void read(const char* name, std::vector<std::string>& out) {
    Value list;
    if (!next(name, list)) return;
    if (list.type != ValueType::array) return refuse(name, "is not a list");
    out.reserve(list.size);
    for (std::uint32_t i = 0; i < list.size; ++i) {
      Value value;
      const std::string path = std::string(name) + "[" + std::to_string(i) + "]";
      if (!reader_.next(value)) return refuse(path, reader_.problem());
      if (value.type != ValueType::text || value.text.size() > kNameBytes || !parse::is_utf8(value.text))
        return refuse(path, "is not a text of at most 253 bytes of UTF-8");
      out.emplace_back(value.text);
    }
    reader_.leave();
  }
  // Skips the fields that a newer peer appended.
  void end() {
    for (; left_ > 0 && !error_; --left_)
      if (!reader_.skip()) refuse("message", reader_.problem());
    if (!error_ && !reader_.at_end()) refuse("message", "has bytes after its end");
  }
  void refuse(std::string subject, std::string what, std::string fix = {}) {
    if (!error_) error_ = Error{Errc::malformed, std::move(subject), std::move(what), std::move(fix)};
  }
  std::optional<Error>& error() { return error_; }

 private:
  wire::Reader reader_;
  std::uint32_t left_ = 0;
  std::optional<Error> error_;
};

// Appends values as msgpack, in its shortest form.
class Writer {
 public:
  Writer(PluginKind kind, std::uint64_t request_id) {
    array(kHead + 1);
    number(kPluginVersion);
    number(static_cast<std::uint64_t>(kind));
    number(request_id);
  }
  void number(std::uint64_t value) {
    if (value < 0x80) return byte(value);
    const unsigned power = value > 0xffffffff ? 3 : value > 0xffff ? 2 : value > 0xff ? 1 : 0;
    byte(0xccU + power);
    big_endian(value, std::size_t{1} << power);
  }
  void array(std::size_t size) {
    if (size < 16) return byte(0x90U | size);
    byte(size > 0xffff ? 0xddU : 0xdcU);
    big_endian(size, size > 0xffff ? 4 : 2);
  }
  void text(std::string_view value) {
    const std::size_t size = value.size();
    if (size < 32) {
      byte(0xa0U | size);
    } else {
      byte(size > 0xffff ? 0xdbU : size > 0xff ? 0xdaU : 0xd9U);
      big_endian(size, size > 0xffff ? 4 : size > 0xff ? 2 : 1);
    }
    out_ += value;
  }
  // Returns the frame.
  std::string end() && {
    const std::string message = std::exchange(out_, {});
    big_endian(message.size(), kPluginLengthBytes);
    return std::move(out_) + message;
  }

 private:
  void byte(std::uint64_t value) { out_ += static_cast<char>(static_cast<unsigned char>(value)); }
  void big_endian(std::uint64_t value, std::size_t bytes) {
    for (std::size_t i = bytes; i > 0; --i) byte(value >> (8 * (i - 1)));
  }
  std::string out_;
};

}  // namespace

Result<std::size_t> plugin_length(std::string_view four_bytes) {
  std::size_t length = 0;
  for (const char byte : four_bytes.substr(0, kPluginLengthBytes))
    length = length << 8 | static_cast<unsigned char>(byte);
  if (length == 0 || length > kPluginFrameBytes)
    return fail(Errc::out_of_range, "length", "is " + std::to_string(length) + " bytes, beyond 1 to 4194304",
                "connect only Wattle's scheduler plugin to this socket");
  return length;
}

Result<PluginRequest> decode_plugin_request(std::string_view message) {
  Fields fields(message);
  std::uint64_t version = 0, kind = 0, request_id = 0;
  fields.read("version", version);
  fields.read("kind", kind);
  fields.read("request_id", request_id);
  if (version != kPluginVersion)
    fields.refuse("version", "is " + std::to_string(version) + ", and this shim speaks 1",
                  "use the scheduler of the shim's release");
  PluginRequest out;
  if (kind == static_cast<std::uint64_t>(PluginKind::nodes_wanted)) {
    NodesWanted wanted{request_id, 0, 0};
    fields.read("cpu_request_cores", wanted.cpu_request_cores);
    fields.read("most", wanted.most);
    out = wanted;
  } else if (kind == static_cast<std::uint64_t>(PluginKind::scores_wanted)) {
    ScoresWanted wanted{request_id, {}, {}};
    fields.read("pod", wanted.pod);
    fields.read("candidates", wanted.candidates);
    out = std::move(wanted);
  } else {
    fields.refuse("kind", "is " + std::to_string(kind) + ", which is not a request");
  }
  fields.end();
  if (fields.error()) return tl::unexpected<Error>(std::move(*fields.error()));
  return out;
}

std::string encode_nodes(std::uint64_t request_id, std::span<const std::string> nodes) {
  Writer writer(PluginKind::nodes, request_id);
  writer.array(nodes.size());
  for (const std::string& node : nodes) writer.text(node);
  return std::move(writer).end();
}

std::string encode_scores(std::uint64_t request_id, std::span<const std::int64_t> scores) {
  Writer writer(PluginKind::scores, request_id);
  writer.array(scores.size());
  for (const std::int64_t score : scores) writer.number(static_cast<std::uint64_t>(score));
  return std::move(writer).end();
}

std::string encode_plugin_refusal(const Error& error) {
  Writer writer(PluginKind::refusal, 0);
  writer.text(error.message());
  return std::move(writer).end();
}

}  // namespace wattle::shim
