#include "common/http/client.hpp"

#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <optional>
#include <utility>

namespace wattle::http {
namespace {

namespace net = boost::asio;
namespace beast = boost::beast;
namespace bhttp = boost::beast::http;
using tcp = net::ip::tcp;
using boost::system::error_code;

}  // namespace

struct Client::Impl {
  Impl(std::string h, std::uint16_t p, std::size_t limit) : host(std::move(h)), port(p), max_body_bytes(limit) {}

  // Runs what was started until it ends; Beast's stream ends it itself when its time is over.
  void finish() {
    io.restart();
    io.run();
  }

  error_code connect(std::chrono::milliseconds timeout) {
    error_code result;
    stream.emplace(io);
    buffer.clear();
    stream->expires_after(timeout);
    const auto keep = [&result](error_code error, auto&&...) { result = error; };
    const auto numeric = net::ip::make_address(host, result);
    if (!result) {
      stream->async_connect(tcp::endpoint(numeric, port), keep);
      finish();
    } else {
      result = net::error::timed_out;
      tcp::resolver resolver(io);
      tcp::resolver::results_type found;
      resolver.async_resolve(host, std::to_string(port), [&](error_code error, tcp::resolver::results_type results) {
        result = error;
        found = std::move(results);
      });
      io.restart();
      io.run_for(timeout);
      if (result == net::error::timed_out) {
        resolver.cancel();
        finish();
        result = beast::error::timeout;
      }
      if (!result) {
        stream->expires_after(timeout);
        stream->async_connect(found, keep);
        finish();
      }
    }
    if (result) {
      stream.reset();
      return result;
    }
    error_code ignored;
    stream->socket().set_option(tcp::no_delay(true), ignored);
    return {};
  }

  // One exchange on the open stream; `silent` tells that the peer sent nothing before it failed.
  Result<Answer> exchange(const std::string& method, const std::string& target, const std::string& body,
                          std::chrono::milliseconds timeout, bool& silent, error_code& failed) {
    bhttp::request<bhttp::string_body> request;
    request.method_string(method);
    request.target(target);
    request.version(11);
    request.set(bhttp::field::host, host + ":" + std::to_string(port));
    if (!token.empty()) request.set(bhttp::field::authorization, "Bearer " + token);
    if (!accept.empty()) request.set(bhttp::field::accept, accept);
    if (!body.empty()) request.set(bhttp::field::content_type, "application/json");
    request.body() = body;
    if (!body.empty() || method == "POST" || method == "PUT") request.content_length(body.size());
    request.keep_alive(true);

    bhttp::response_parser<bhttp::string_body> parser;
    parser.body_limit(max_body_bytes);
    parser.skip(method == "HEAD");
    const auto keep = [&failed](error_code error, std::size_t) { failed = error; };
    silent = true;
    stream->expires_after(timeout);
    bhttp::async_write(*stream, request, keep);
    finish();
    if (!failed) {
      bhttp::async_read_header(*stream, buffer, parser, keep);
      finish();
      silent = !parser.is_header_done() && buffer.size() == 0;
    }
    if (!failed) {
      bhttp::async_read(*stream, buffer, parser, keep);
      finish();
    }
    const bool again = !failed && parser.get().keep_alive();
    if (!again) stream.reset();
    if (failed) return fail(Errc::io, "", "");
    auto& message = parser.get();
    const auto type = message[bhttp::field::content_type];
    return Answer{static_cast<int>(message.result_int()), std::string(type.data(), type.size()),
                  std::move(message.body())};
  }

  tl::unexpected<Error> failure(error_code error, const std::string& target, std::chrono::milliseconds timeout) const {
    const std::string subject = "http://" + host + ":" + std::to_string(port) + target;
    if (error == beast::error::timeout)
      return fail(Errc::timeout, subject, "no answer within " + std::to_string(timeout.count()) + " ms");
    if (error == bhttp::error::body_limit)
      return fail(Errc::malformed, subject, "the answer is larger than " + std::to_string(max_body_bytes) + " bytes");
    if (error == bhttp::error::end_of_stream || error == bhttp::error::partial_message)
      return fail(Errc::unavailable, subject, "the peer closed the connection before its answer");
    if (error.category() == bhttp::make_error_code(bhttp::error::bad_method).category())
      return fail(Errc::malformed, subject, "the answer is not HTTP: " + error.message());
    return fail(Errc::unavailable, subject, error.message(), "is it running, and is the port right?");
  }

  std::string host, accept, token;
  std::uint16_t port;
  std::size_t max_body_bytes;
  net::io_context io{1};
  std::optional<beast::tcp_stream> stream;
  beast::flat_buffer buffer;
};

Client::Client(std::string host, std::uint16_t port, std::size_t max_body_bytes)
    : impl_(std::make_unique<Impl>(std::move(host), port, max_body_bytes)) {}
Client::Client(Client&&) noexcept = default;
Client::~Client() = default;

void Client::accept(std::string type) { impl_->accept = std::move(type); }

void Client::bearer(std::string token) { impl_->token = std::move(token); }

Result<Answer> Client::request(const std::string& method, const std::string& target, const std::string& body,
                               std::chrono::milliseconds timeout) {
  Impl& impl = *impl_;
  try {
    for (;;) {
      const bool kept = impl.stream.has_value();
      if (!kept) {
        if (const error_code error = impl.connect(timeout)) return impl.failure(error, target, timeout);
      }
      bool silent = true;
      error_code failed;
      auto answer = impl.exchange(method, target, body, timeout, silent, failed);
      if (!failed) return answer;
      // The peer had closed the kept connection before it saw this request: once more on a new one.
      if (kept && silent && failed != beast::error::timeout) continue;
      return impl.failure(failed, target, timeout);
    }
  } catch (const std::exception& error) {
    impl.stream.reset();
    return fail(Errc::malformed, "http://" + impl.host + target, error.what());
  }
}

}  // namespace wattle::http
