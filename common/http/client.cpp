#include "common/http/client.hpp"

#include <boost/beast/http.hpp>
#include <utility>

#include "common/http/connection.hpp"

namespace wattle::http {
namespace {

namespace beast = boost::beast;
namespace bhttp = boost::beast::http;
using boost::system::error_code;

}  // namespace

struct Client::Impl {
  Impl(Origin origin, std::size_t limit) : max_body_bytes(limit), connection(std::move(origin)) {}

  // One exchange on the open stream; `silent` tells that the peer sent nothing before it failed.
  Result<Answer> exchange(const std::string& method, const std::string& target, const std::string& body,
                          std::chrono::milliseconds timeout, bool& silent, error_code& failed) {
    bhttp::request<bhttp::string_body> request;
    request.method_string(method);
    request.target(target);
    request.version(11);
    const Origin& origin = connection.origin();
    request.set(bhttp::field::host, origin.host + ":" + std::to_string(origin.port));
    if (!token.empty()) request.set(bhttp::field::authorization, "Bearer " + token);
    if (!accept.empty()) request.set(bhttp::field::accept, accept);
    if (!body.empty()) request.set(bhttp::field::content_type, content_type);
    request.body() = body;
    if (!body.empty() || method == "POST" || method == "PUT") request.content_length(body.size());
    request.keep_alive(true);

    bhttp::response_parser<bhttp::string_body> parser;
    parser.body_limit(max_body_bytes);
    parser.skip(method == "HEAD");
    const auto keep = [&failed](error_code error, std::size_t) { failed = error; };
    silent = true;
    connection.expires_after(timeout);
    bhttp::async_write(connection, request, keep);
    connection.finish();
    if (!failed) {
      bhttp::async_read_header(connection, buffer, parser, keep);
      connection.finish();
      silent = !parser.is_header_done() && buffer.size() == 0;
    }
    if (!failed) {
      bhttp::async_read(connection, buffer, parser, keep);
      connection.finish();
    }
    const bool again = !failed && parser.get().keep_alive();
    if (!again) connection.close();
    if (failed) return fail(Errc::io, "", "");
    auto& message = parser.get();
    const auto type = message[bhttp::field::content_type];
    return Answer{static_cast<int>(message.result_int()), std::string(type.data(), type.size()),
                  std::move(message.body())};
  }

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

void Client::stop() { impl_->connection.stop(); }

void Client::bearer(std::string token) { impl_->token = std::move(token); }

Result<Answer> Client::request(const std::string& method, const std::string& target, const std::string& body,
                               std::chrono::milliseconds timeout) {
  Impl& impl = *impl_;
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
      // The peer had closed the kept connection before it saw this request: once more on a new one.
      if (kept && silent && failed != beast::error::timeout) continue;
      return impl.connection.failure(failed, target);
    }
  } catch (const std::exception& error) {
    impl.connection.close();
    return fail(Errc::malformed, impl.connection.origin().url() + target, error.what());
  }
}

}  // namespace wattle::http
