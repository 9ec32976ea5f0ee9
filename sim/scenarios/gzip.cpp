#include "sim/scenarios/gzip.hpp"

#include <zlib.h>

namespace wattle::sim::consolidation {

namespace {
constexpr int kGzipOnly = 16 + MAX_WBITS;
constexpr std::size_t kChunkBytes = 1 << 16;

struct Inflater {
  z_stream stream{};
  bool open = false;
  ~Inflater() {
    if (open) inflateEnd(&stream);
  }
};
}  // namespace

Result<std::string> gunzip(std::string_view bytes, const std::string& subject, std::size_t max_bytes) {
  const std::string fix = "check it with gzip -t";
  if (bytes.size() > (std::size_t{1} << 30)) return fail(Errc::out_of_range, subject, "is larger than 1 GiB");
  Inflater inflater;
  if (inflateInit2(&inflater.stream, kGzipOnly) != Z_OK) return fail(Errc::io, subject, "zlib cannot start");
  inflater.open = true;
  // zlib does not write to its input; its interface predates const.
  inflater.stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes.data()));
  inflater.stream.avail_in = static_cast<uInt>(bytes.size());
  std::string text;
  for (;;) {
    const std::size_t had = text.size();
    if (had > max_bytes)
      return fail(Errc::out_of_range, subject, "unpacks to more than " + std::to_string(max_bytes) + " bytes");
    text.resize(had + kChunkBytes);
    inflater.stream.next_out = reinterpret_cast<Bytef*>(text.data() + had);
    inflater.stream.avail_out = static_cast<uInt>(kChunkBytes);
    const int code = inflate(&inflater.stream, Z_NO_FLUSH);
    text.resize(had + kChunkBytes - inflater.stream.avail_out);
    if (code == Z_STREAM_END) break;
    if (code == Z_BUF_ERROR || (code == Z_OK && inflater.stream.avail_in == 0 && inflater.stream.avail_out > 0))
      return fail(Errc::malformed, subject, "ends in the middle", fix);
    if (code != Z_OK) return fail(Errc::malformed, subject, "is not gzip, or is damaged", fix);
  }
  if (inflater.stream.avail_in > 0) return fail(Errc::malformed, subject, "contains data after its end", fix);
  if (text.size() > max_bytes)
    return fail(Errc::out_of_range, subject, "unpacks to more than " + std::to_string(max_bytes) + " bytes");
  return text;
}

}  // namespace wattle::sim::consolidation
