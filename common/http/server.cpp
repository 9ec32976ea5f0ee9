#include "common/http/server.hpp"

#include <algorithm>
#include <boost/asio/ip/v6_only.hpp>
#include <thread>

#include "common/host_name.hpp"
#include "common/http/session.hpp"

namespace wattle::http {
namespace {

// Maximum time that the destructor waits for open answers.
constexpr std::chrono::milliseconds kStopPatience{2000};
constexpr std::chrono::milliseconds kTurnEvery{100};

Source source_of(const tcp::socket& socket) {
  error_code error;
  const tcp::endpoint peer = socket.remote_endpoint(error);
  net::ip::address address = peer.address();
  if (address.is_v6() && address.to_v6().is_v4_mapped())
    address = net::ip::make_address_v4(net::ip::v4_mapped, address.to_v6());
  if (!address.is_v6() || address.is_loopback()) return {address.to_string(), !error && address.is_loopback()};
  // A single host may own a whole /64.
  auto bytes = address.to_v6().to_bytes();
  std::fill(bytes.begin() + 8, bytes.end(), 0);
  return {net::ip::address_v6(bytes).to_string(), false};
}

// "/" matches only itself, it is not a folder.
bool is_below(std::string_view path, std::string_view folder) {
  return folder.size() > 1 && folder.ends_with('/') && path.starts_with(folder);
}

}  // namespace

void Shared::log_once(std::string_view event, std::string_view message, const std::string& reason,
                      const std::string& what) {
  std::optional<std::uint64_t> count;
  {
    const std::lock_guard lock(reported_mutex);
    count = reported.note(std::string(event) + " " + reason, clock.mono());
  }
  if (count) log.warn(event, message, {{"reason", reason}, {"what", what}, {"count", *count}});
}

void Shared::refused(Refused why, const std::string& what) {
  if (options.refusals) options.refusals->add(why);
  log_once("http.refused", "an HTTP request was rejected", std::string(kRefusedNames[static_cast<std::size_t>(why)]),
           what);
}

Shared::Admission Shared::admit(const Source& newcomer) const {
  const std::size_t share = options.max_per_source != 0 ? options.max_per_source : options.max_connections / 4;
  const CrowdBounds bounds{options.max_connections, std::max<std::size_t>(1, share)};
  Admission admission;
  admission.admitted = sessions.size() < std::min(bounds.connections, bounds.per_source);
  if (admission.admitted) return admission;
  // Uses non-const pointers: weak_from_this() of a const object converts, which owns the session for a moment, here
  // under the lock.
  for (Session* session : sessions)
    if (auto alive = session->weak_from_this().lock()) admission.looked_at.push_back(std::move(alive));
  // A session that started to work in the meantime cannot give way; tries the next one.
  for (std::size_t tries = 0; tries <= admission.looked_at.size(); ++tries) {
    std::vector<Seat> seats;
    for (const auto& session : admission.looked_at) seats.push_back(session->seat());
    const Verdict verdict = judge(seats, newcomer, bounds);
    admission.gave_way = verdict.gives_way && admission.looked_at[*verdict.gives_way]->give_way();
    admission.admitted = verdict.gives_way ? admission.gave_way : verdict.admitted;
    if (admission.admitted || !verdict.gives_way) break;
  }
  return admission;
}

void Shared::turn() {
  turned.expires_after(kTurnEvery);
  turned.async_wait([this](error_code stopped) {
    if (stopped || stopping) return;
    options.turns();
    turn();
  });
}

void Shared::accept() {
  acceptor.async_accept(net::make_strand(io),
                        [this](error_code error, tcp::socket socket) { on_accept(error, std::move(socket)); });
}

void Shared::on_accept(error_code error, tcp::socket socket) {
  if (stopping || error == net::error::operation_aborted) return;
  if (error) {
    // Most likely out of descriptors; an immediate retry would only use up the CPU.
    log_once("http.accept_failed", "a connection cannot be accepted", "accept", error.message());
    retry.expires_after(std::chrono::milliseconds(100));
    retry.async_wait([this](error_code stopped) {
      if (!stopped) accept();
    });
    return;
  }
  Source from = source_of(socket);
  std::shared_ptr<Session> session;
  Admission admission;
  {
    const std::lock_guard lock(mutex);
    admission = admit(from);
    if (admission.admitted) {
      session = std::make_shared<Session>(*this, std::move(socket), tls ? tls->current(log) : nullptr, std::move(from));
      sessions.insert(session.get());
    }
  }
  if (admission.gave_way) refused(Refused::too_many, "the longest idle connection was closed for a new one");
  if (session) {
    session->start();
  } else {
    refused(Refused::too_many, "more connections than allowed for one source, or more than " +
                                   std::to_string(options.max_connections) + " in all");
    static constexpr std::string_view kFull =
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nContent-Length: 21\r\n"
        "Connection: close\r\n\r\ntoo many connections\n";
    error_code ignored;
    socket.non_blocking(true, ignored);
    if (!tls) socket.write_some(net::buffer(kFull.data(), kFull.size()), ignored);
    socket.shutdown(tcp::socket::shutdown_send, ignored);
  }
  accept();
}

bool Shared::open(const std::string& path) const {
  return std::any_of(options.open_paths.begin(), options.open_paths.end(),
                     [&](const std::string& each) { return each == path || is_below(path, each); });
}

bool Shared::admits(const Request& request) const {
  if (!token || token->admits(request.authorization)) return true;
  const auto cookies = request.headers.find("cookie");
  return cookies != request.headers.end() && token->admits_pass(cookies->second, clock.wall());
}

std::optional<Response> Shared::refusal(const Request& request, std::uint64_t length, const Route*& route) {
  std::string allow;
  route = find(request.method, request.path, allow);
  const auto host = request.headers.find("host");
  if (!tls && host != request.headers.end() && !(route != nullptr && route->any_host) && !hosts.admit(host->second)) {
    refused(Refused::host, request.path + " was requested with Host " + host->second);
    return plain(
        421,
        "the Host header does not name this server: use its address, or add the name to `hosts` next to `address`");
  }
  const std::size_t most_bytes = route != nullptr ? route->max_body_bytes : kSmallestBodyBytes;
  if (length > most_bytes) {
    refused(Refused::too_large, request.path + " received a body of " + std::to_string(length) + " bytes");
    return plain(413, "the body is larger than " + std::to_string(most_bytes) + " bytes");
  }
  if (!open(request.path) && !admits(request)) {
    refused(Refused::token, request.path + " was requested without a valid bearer token");
    return plain(401, "this page requires a bearer token");
  }
  if (route == nullptr) {
    refused(Refused::path, request.method + " " + request.path);
    if (allow.empty()) return plain(404, "not found: " + request.path);
    Response other = plain(405, request.path + " does not support " + request.method + "; it supports " + allow);
    other.headers.emplace_back("Allow", allow);
    return other;
  }
  auto checked = route->check ? route->check(request) : std::nullopt;
  if (checked) count(request, *checked);
  return checked;
}

void Shared::count(const Request& request, const Response& response) {
  if (response.refused)
    refused(*response.refused, request.method + " " + request.path + " of " + request.from + " returned status " +
                                   std::to_string(response.status));
}

const Route* Shared::find(const std::string& method, const std::string& path, std::string& allow) const {
  const std::string wanted = method == "HEAD" ? "GET" : method;
  const Route* best = nullptr;
  std::size_t best_length = 0;
  for (const auto& [name, route] : routes) {
    const auto space = name.find(' ');
    const std::string_view verb = std::string_view(name).substr(0, space);
    const std::string_view pattern = std::string_view(name).substr(space + 1);
    const bool fits = pattern == path || is_below(path, pattern);
    if (!fits) continue;
    if (verb == wanted || (verb == "HEAD" && method == "HEAD")) {
      if (pattern.size() < best_length) continue;
      best = &route;
      best_length = pattern.size();
    } else if (allow.find(verb) == std::string::npos) {
      allow += (allow.empty() ? "" : ", ") + std::string(verb);
    }
  }
  return best;
}

bool Shared::hold(std::atomic<std::size_t>& held, std::size_t bytes, std::uint64_t since) {
  const std::lock_guard one_at_a_time(room_mutex);  // two callers would count each other's bytes and both fail
  while (bodies_bytes + bytes > options.max_bodies_bytes) {
    std::vector<std::shared_ptr<Session>> looked_at;  // see Admission
    {
      const std::lock_guard lock(mutex);
      for (Session* session : sessions)
        if (auto alive = session->weak_from_this().lock()) looked_at.push_back(std::move(alive));
    }
    Session* oldest = nullptr;
    std::uint64_t before = since;
    for (const auto& session : looked_at) {
      const Seat seat = session->seat();
      if (session->held_bytes() == 0 || seat.turn != Turn::peer || seat.since >= before) continue;
      oldest = session.get();
      before = seat.since;
    }
    if (oldest == nullptr) return false;
    if (oldest->give_way_with_body()) refused(Refused::too_many, "a slow request body was dropped for another");
  }
  bodies_bytes += bytes;
  held += bytes;
  return true;
}

struct Server::Impl {
  Impl(const ServerOptions& options, Routes routes, std::optional<TlsSource> tls, std::optional<Token> token,
       const Log& log)
      : shared(options, std::move(routes), Hosts(options.hosts, host_name()), std::move(tls), std::move(token), log) {}

  ~Impl() {
    shared.stopping = true;
    net::post(shared.acceptor.get_executor(), [this] {
      error_code ignored;
      shared.acceptor.close(ignored);
      shared.retry.cancel();
      shared.turned.cancel();
    });
    std::vector<std::shared_ptr<Session>> open;
    {
      const std::lock_guard lock(shared.mutex);
      for (Session* session : shared.sessions)
        if (auto alive = session->weak_from_this().lock()) open.push_back(std::move(alive));
    }
    for (const auto& session : open) session->stop();
    open.clear();  // outside the lock, because the last owner's destructor takes it
    {
      std::unique_lock lock(shared.mutex);
      shared.emptied.wait_for(lock, kStopPatience, [this] { return shared.sessions.empty(); });
    }
    shared.io.stop();
    for (auto& thread : threads) thread.join();
  }

  Shared shared;
  std::uint16_t port = 0;
  std::vector<std::thread> threads;
};

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::Server(Server&&) noexcept = default;
Server& Server::operator=(Server&&) noexcept = default;
Server::~Server() = default;
std::uint16_t Server::port() const { return impl_->port; }
int Server::listener() const { return impl_->shared.acceptor.native_handle(); }

Result<Server> Server::start(const ServerOptions& options, Routes routes, const Log& log) {
  const std::string subject = options.address + ":" + std::to_string(options.port);
  error_code error;
  const auto address = net::ip::make_address(options.address, error);
  if (error) return fail(Errc::malformed, subject, "is not an IP address", "for example 127.0.0.1 or ::");
  std::optional<TlsSource> tls;
  if (!options.tls.certificate.empty()) {
    WATTLE_TRY(tls, TlsSource::open_(options.tls));
  }
  std::optional<Token> token;
  if (!options.token_file.empty()) {
    WATTLE_TRY(token, Token::load(options.token_file));
  }
  auto impl = std::make_unique<Impl>(options, std::move(routes), std::move(tls), std::move(token), log);
  auto& acceptor = impl->shared.acceptor;
  tcp::endpoint endpoint(address, options.port);
  acceptor.open(endpoint.protocol(), error);
  // `::` accepts both families, or only IPv4 if the kernel has no IPv6.
  const bool any = address == net::ip::address_v6::any();
  if (any && error == net::error::address_family_not_supported) {
    endpoint = tcp::endpoint(tcp::v4(), options.port);
    acceptor.open(endpoint.protocol(), error);
  } else if (any && !error) {
    acceptor.set_option(net::ip::v6_only(false), error);
  }
  if (!error) acceptor.set_option(net::socket_base::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(net::socket_base::max_listen_connections, error);
  if (error == net::error::address_in_use)
    return fail(Errc::conflict, subject, error.message(), "another process uses this port; choose another one");
  if (error) return fail_errno(error.value(), subject, "cannot listen on this address");
  impl->port = acceptor.local_endpoint(error).port();
  impl->shared.accept();
  if (options.turns) impl->shared.turn();
  for (unsigned i = 0; i < std::max(1U, options.threads); ++i)
    impl->threads.emplace_back([&io = impl->shared.io] { io.run(); });
  return Server(std::move(impl));
}

}  // namespace wattle::http
