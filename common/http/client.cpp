#include "common/http/client.hpp"

#include <utility>  // before Asio, which uses std::exchange and does not include it

#include <algorithm>
#include <boost/asio/error.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <string_view>

#include "common/http/connection.hpp"
#include "common/http/head.hpp"

namespace wattle::http {
namespace {

namespace beast = boost::beast;
namespace bhttp = boost::beast::http;
using boost::system::error_code;

// A line end in a value would begin another header, or another request.
bool is_header_value(std::string_view value) {
  return std::none_of(value.begin(), value.end(),
                      [](char c) { return (static_cast<unsigned char>(c) < ' ' && c != '\t') || c == 0x7f; });
}

}  // namespace

struct Client::Impl {
  Impl(Origin origin, std::size_t limit) : max_body_bytes(limit), connection(std::move(origin)) {}

  // Runs one exchange on the open stream; sets `silent` if it failed before the peer sent anything.
  Result<Answer> exchange(const std::string& method, const std::string& target, const std::string& body,
                          std::chrono::milliseconds timeout, bool& silent, error_code& failed) {
    std::string request = method + " " + target + " HTTP/1.1\r\nHost: " + authority(connection.origin()) + "\r\n";
    if (!token.empty()) request += "Authorization: Bearer " + token + "\r\n";
    for (const auto& [name, value] : headers) request += name + ": " + value + "\r\n";
    if (!accept.empty()) request += "Accept: " + accept + "\r\n";
    if (!body.empty()) request += "Content-Type: " + content_type + "\r\n";
    if (!body.empty() || method == "POST" || method == "PUT")
      request += "Content-Length: " + std::to_string(body.size()) + "\r\n";
    request += "\r\n" + body;

    bhttp::response_parser<bhttp::string_body> parser;
    parser.body_limit(max_body_bytes);
    parser.skip(method == "HEAD");
    connection.expires_after(timeout);
    failed = connection.write(request);
    if (!failed) failed = read(parser);
    silent = !parser.got_some() && buffer.size() == 0;
    const bool again = !failed && parser.get().keep_alive();
    if (!again) connection.close();
    if (failed) return fail(Errc::io, "", "");
    auto& message = parser.get();
    const auto type = message[bhttp::field::content_type];
    Answer answer{static_cast<int>(message.result_int()), std::string(type.data(), type.size()),
                  std::move(message.body())};
    for (const auto& field : message)
      answer.headers.emplace(lower_case(std::string_view(field.name_string().data(), field.name_string().size())),
                             std::string(field.value().data(), field.value().size()));
    return answer;
  }

  error_code read(bhttp::response_parser<bhttp::string_body>& parser) {
    for (;;) {
      error_code error;
      if (buffer.size() > 0) {
        // An eager parser would ignore the error of a header that announces too long a body.
        const bool in_body = parser.is_header_done();
        parser.eager(in_body);
        buffer.consume(parser.put(buffer.data(), error));
        if (error && error != bhttp::error::need_more) return error;
        if (parser.is_done()) return {};
        if (!error && !in_body) continue;
      }
      std::size_t count = 0;
      error = connection.read_some(buffer.prepare(kReadBytes).data(), kReadBytes, count);
      buffer.commit(count);
      if (!error) continue;
      if (error != boost::asio::error::eof) return error;
      if (!parser.got_some()) return bhttp::error::end_of_stream;
      error = {};
      parser.put_eof(error);
      return error;
    }
  }

  std::map<std::string, std::string> headers;
  std::string accept, token, content_type = "application/json";
  std::size_t max_body_bytes;
  Connection connection;
  beast::flat_buffer buffer;
};

Client::Client(std::string host, std::uint16_t port, std::size_t max_body_bytes)
    : Client(Origin{std::move(host), port, std::nullopt}, max_body_bytes) {}
Client::Client(Origin origin, std::size_t max_body_bytes)
    : impl_(std::make_unique<Impl>(std::move(origin), max_body_bytes)) {}
Client::Client(Client&&) noexcept = default;
Client::~Client() = default;

void Client::accept(std::string type) { impl_->accept = std::move(type); }

void Client::content_type(std::string type) { impl_->content_type = std::move(type); }

void Client::disconnect() { impl_->connection.close(); }

void Client::stop() { impl_->connection.stop(); }

void Client::bearer(std::string token) { impl_->token = std::move(token); }

void Client::header(const std::string& name, std::string value) { impl_->headers[name] = std::move(value); }

Result<Answer> Client::request(const std::string& method, const std::string& target, const std::string& body,
                               std::chrono::milliseconds timeout) {
  Impl& impl = *impl_;
  for (const auto& [name, value] : impl.headers)
    if (!is_header_value(value))
      return fail(Errc::malformed, impl.connection.origin().url() + target, "the header " + name + " has a line end");
  try {
    for (;;) {
      const bool kept = impl.connection.open();
      if (!kept) {
        impl.buffer.clear();
        WATTLE_CHECK(impl.connection.connect(target, timeout));
      }
      bool silent = true;
      error_code failed;
      auto answer = impl.exchange(method, target, body, timeout, silent, failed);
      if (!failed) return answer;
      // Retries once on a new connection if the peer closed the kept one before it saw this request.
      if (kept && silent && failed != beast::error::timeout) continue;
      return impl.connection.failure(failed, target);
    }
  } catch (const std::exception& error) {
    impl.connection.close();
    return fail(Errc::malformed, impl.connection.origin().url() + target, error.what());
  }
}

}  // namespace wattle::http
