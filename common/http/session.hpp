// session: internals of the server: one connection, and the state that connections share; private to this folder.
// Threads  a Session's functions run on its strand, start() and stop() on any thread; Shared's as noted
#pragma once

#include <utility>  // before Asio, which uses std::exchange and does not include it

#include <array>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "common/clock.hpp"
#include "common/http/crowd.hpp"
#include "common/http/guess_delay.hpp"
#include "common/http/hosts.hpp"
#include "common/http/server.hpp"
#include "common/http/stream.hpp"
#include "common/http/tls.hpp"
#include "common/http/token.hpp"
#include "common/log_throttle.hpp"

namespace wattle::http {

namespace net = boost::asio;
namespace beast = boost::beast;
namespace bhttp = boost::beast::http;
using tcp = net::ip::tcp;
using boost::system::error_code;

struct Shared;

// Response with one line of text.
Response plain(int status, std::string text);

// Connection with a strand, one timer and a chain of callbacks, which keep it alive.
class Session final : public Subscriber, public std::enable_shared_from_this<Session> {
 public:
  Session(Shared& shared, tcp::socket socket, TlsContext tls, Source from);
  ~Session() override;
  void start();
  void stop();  // now if idle, otherwise after the current answer
  Seat seat() const { return {&from_, turn_.load(), since_.load()}; }
  // Closes the connection, to make room for another one. False: the handler runs now, and the connection stays.
  bool give_way();
  // Answers 503 to the request whose body is arriving, to make room for another body. False: as give_way().
  bool give_way_with_body();
  std::size_t held_bytes() const { return held_bytes_.load(); }
  void on_event(Text text) override;

 private:
  void run_start();
  void shake_hands();
  void await_request();
  // Sets the turn. Returns false if the session has given way and must close.
  bool take(Turn next);
  bool has_given_way() const { return turn_.load() == Turn::gone; }
  void read_header();
  void read_more_header();
  void on_header(std::size_t bytes);
  void on_request();
  void read_body();
  void read_more_body();
  void invite_body();
  void on_read(error_code error, bool header);
  void answer();
  void send(Response response, bool keep);
  void write_answer();
  void on_written(error_code error);
  // session_stream.cpp
  void listen(const Response& response);
  void say(const Text& text);
  void say_next();
  void await_heartbeat();
  void await_leaving();
  void end_listening(bool dropped);
  void refuse(Refused why, Response response);
  bool leave_peer();
  bool hold_room(std::size_t bytes);
  void answer_no_room();
  void give_room();
  void close_slowly();
  void end_sending();
  void drain();
  void close();
  // Cancels the running read or write after `span`. Keeps a pending wait that ends earlier: a request then needs no
  // operation of the timer, each of which would wake another thread.
  void limit(std::chrono::milliseconds span);
  void unlimit() { limit_ = MonoTime::max(); }
  void wait_until(MonoTime at);
  void on_waited();
  // Ends the pending wait, so that the timer can be used for something else.
  void end_wait();

  Shared& shared_;
  const Source from_;
  std::atomic<Turn> turn_{Turn::peer};
  std::atomic<std::uint64_t> since_;
  Stream stream_;
  net::steady_timer timer_;
  beast::flat_buffer buffer_;
  std::optional<bhttp::request_parser<bhttp::string_body>> parser_;
  Request request_;
  const Route* route_ = nullptr;
  MonoTime limit_ = MonoTime::max();     // of the read or write that runs
  MonoTime waits_to_ = MonoTime::max();  // end of the pending wait for the limit; max: there is none
  bool shows_secret_ = false;            // the request has a token, or a body that may have one
  std::string head_, body_;              // current answer
  std::array<char, 4096> discard_{};
  std::shared_ptr<Broadcast> listens_to_;
  std::deque<Text> unsaid_;
  std::size_t unsaid_bytes_ = 0;
  std::uint64_t generation_ = 0;
  std::atomic<std::size_t> held_bytes_ = 0;  // this session's part of Shared::bodies_bytes
  bool idle_ = false;
  bool first_ = true;  // no byte received yet
  bool stopping_ = false;
  bool timed_out_ = false;
  bool keep_ = true;
};

struct Shared {
  Shared(const ServerOptions& o, Routes r, Hosts h, std::optional<TlsSource> t, std::optional<Token> k, const Log& l)
      : options(o),
        routes(std::move(r)),
        hosts(std::move(h)),
        tls(std::move(t)),
        token(std::move(k)),
        log(l),
        acceptor(net::make_strand(io)),
        retry(acceptor.get_executor()),
        turned(acceptor.get_executor()) {}

  const ServerOptions options;
  const Routes routes;
  const Hosts hosts;
  std::optional<TlsSource> tls;  // used only by the acceptor
  const std::optional<Token> token;
  const Log& log;

  std::mutex mutex;
  std::condition_variable emptied;
  std::set<Session*> sessions;
  std::atomic<bool> stopping = false;
  std::mutex room_mutex;  // for hold(); taken before `mutex`
  std::atomic<std::size_t> bodies_bytes = 0;
  std::atomic<std::uint64_t> turns = 0;  // counts turns of all sessions, to find the oldest
  std::mutex reported_mutex;
  LogThrottle reported{std::chrono::seconds(60)};
  SystemClock clock;
  GuessDelay guesses;

  // Declared after what sessions use: handlers left at its destruction still own sessions.
  net::io_context io;
  tcp::acceptor acceptor;
  net::steady_timer retry;
  net::steady_timer turned;

  // Counts the refusal, and logs once per minute and reason.
  void refused(Refused why, const std::string& what);

  void turn();
  void accept();
  void on_accept(error_code error, tcp::socket socket);
  // Decides under the lock whether there is room, and asks one connection to give way if needed.
  struct Admission {
    bool admitted = false, gave_way = false;
    std::vector<std::shared_ptr<Session>> looked_at;  // outlives the lock, which the last owner's destructor takes
  };
  Admission admit(const Source& newcomer) const;
  // Adds to the room that a body holds; bodies that began to arrive before `since` give way. Returns false if there is
  // no room, because all others are younger or being answered. The client of the request that loses gets a 503.
  bool hold(std::atomic<std::size_t>& held, std::size_t bytes, std::uint64_t since);
  // Logs at most once per minute and reason.
  void log_once(std::string_view event, std::string_view message, const std::string& reason, const std::string& what);
  // Returns the answer that the header decides, or nullopt if `route` handles the request. `length` is the announced
  // size of the body.
  std::optional<Response> refusal(const Request& request, std::uint64_t length, const Route*& route);
  // Counts and logs a refusal by a handler or a check.
  void count(const Request& request, const Response& response);
  bool open(const std::string& path) const;
  bool admits(const Request& request) const;
  // Finds the route of a method and path; otherwise sets `allow` to the methods of the path.
  const Route* find(const std::string& method, const std::string& path, std::string& allow) const;
};

}  // namespace wattle::http
