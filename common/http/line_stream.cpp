#include "common/http/line_stream.hpp"

#include <utility>  // before Asio, which uses std::exchange and does not include it

#include <algorithm>
#include <boost/asio/error.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <limits>
#include <vector>

#include "common/http/connection.hpp"
#include "common/http/head.hpp"

namespace wattle::http {
namespace {

namespace beast = boost::beast;
namespace bhttp = beast::http;
using boost::system::error_code;

// Assembles whole lines from pieces.
class Lines {
 public:
  explicit Lines(std::size_t max_bytes) : max_bytes_(max_bytes) {}
  enum class End { more, enough, too_long };
  End take(std::string_view piece, const std::function<bool(std::string_view)>& line) {
    for (std::size_t end = piece.find('\n'); end != std::string_view::npos; end = piece.find('\n')) {
      if (rest_.size() + end > max_bytes_) return End::too_long;
      bool more = true;
      if (rest_.empty()) {
        more = end == 0 || line(piece.substr(0, end));
      } else {
        rest_.append(piece.substr(0, end));
        more = line(rest_);
        rest_.clear();
      }
      if (!more) return End::enough;
      piece.remove_prefix(end + 1);
    }
    if (rest_.size() + piece.size() > max_bytes_) return End::too_long;
    rest_.append(piece);
    return End::more;
  }

 private:
  std::size_t max_bytes_;
  std::string rest_;
};

}  // namespace

struct LineStream::Impl {
  Impl(Origin origin, const LineStreamOptions& o) : options(o), connection(std::move(origin)) {}

  using Parser = bhttp::response_parser<bhttp::buffer_body>;

  error_code send(const std::string& target) {
    std::string request = "GET " + target + " HTTP/1.1\r\nHost: " + authority(connection.origin()) +
                          "\r\nAccept: application/json\r\nConnection: close\r\n";
    if (!token.empty()) request += "Authorization: Bearer " + token + "\r\n";
    connection.expires_after(options.silence);
    return connection.write(request + "\r\n");
  }

  // Parses the buffered bytes; reads more first if there are none.
  error_code advance(Parser& parser) {
    error_code error;
    if (buffer.size() > 0) {
      buffer.consume(parser.put(buffer.data(), error));
      if (error != bhttp::error::need_more) return error == bhttp::error::need_buffer ? error_code() : error;
    }
    std::size_t count = 0;
    connection.expires_after(options.silence);
    error = connection.read_some(buffer.prepare(kReadBytes).data(), kReadBytes, count);
    buffer.commit(count);
    if (error != boost::asio::error::eof) return error;
    if (!parser.got_some()) return bhttp::error::end_of_stream;
    error = {};
    parser.put_eof(error);
    return error;
  }

  // Returns the next bytes of the body; empty at its end.
  Result<std::string_view> read(Parser& parser, const std::string& target) {
    std::size_t got = 0;
    while (got == 0 && !parser.is_done()) {
      parser.get().body().data = room.data();
      parser.get().body().size = room.size();
      if (const error_code failed = advance(parser)) return connection.failure(failed, target);
      got = room.size() - parser.get().body().size;
    }
    return std::string_view(room.data(), got);
  }

  Result<Answer> get(const std::string& target, const std::function<bool(std::string_view)>& line) {
    buffer.clear();
    WATTLE_CHECK(connection.connect(target, options.connect_within));
    error_code failed = send(target);
    Parser parser;
    parser.body_limit(std::numeric_limits<std::uint64_t>::max());  // boost::none would refuse every Content-Length
    while (!failed && !parser.is_header_done()) failed = advance(parser);
    if (failed) return connection.failure(failed, target);
    Answer answer;
    answer.status = static_cast<int>(parser.get().result_int());
    const auto type = parser.get()[bhttp::field::content_type];
    answer.content_type.assign(type.data(), type.size());
    for (const auto& field : parser.get())
      answer.headers.emplace(lower_case(std::string_view(field.name_string().data(), field.name_string().size())),
                             std::string(field.value().data(), field.value().size()));
    Lines lines(options.max_line_bytes);
    for (;;) {
      WATTLE_TRY(const std::string_view piece, read(parser, target));
      if (piece.empty()) return answer;
      if (answer.status != 200) {
        answer.body.append(
            piece.substr(0, options.max_refusal_bytes - std::min(options.max_refusal_bytes, answer.body.size())));
        if (answer.body.size() >= options.max_refusal_bytes) return answer;
        continue;
      }
      const Lines::End end = lines.take(piece, line);
      if (end == Lines::End::enough) return answer;
      if (end == Lines::End::too_long)
        return fail(Errc::malformed, connection.origin().url() + target,
                    "a line is longer than " + std::to_string(options.max_line_bytes) + " bytes");
    }
  }

  LineStreamOptions options;
  Connection connection;
  std::string token;
  beast::flat_buffer buffer;
  std::vector<char> room = std::vector<char>(kReadBytes);
};

LineStream::LineStream(Origin origin, LineStreamOptions options)
    : impl_(std::make_unique<Impl>(std::move(origin), options)) {}
LineStream::~LineStream() = default;

void LineStream::bearer(std::string token) { impl_->token = std::move(token); }

Result<Answer> LineStream::get(const std::string& target, const std::function<bool(std::string_view)>& line) {
  try {
    auto answer = impl_->get(target, line);
    impl_->connection.close();
    return answer;
  } catch (const std::exception& error) {
    impl_->connection.close();
    return fail(Errc::malformed, impl_->connection.origin().url() + target, error.what());
  }
}

void LineStream::stop() { impl_->connection.stop(); }

}  // namespace wattle::http
