// pcm: reads Intel's pcm-sensor-server: joules, DRAM traffic, C-states and frequency of each socket.
// Source   GET /persecond of pcm-sensor-server (package pcm; default port 9738) with Accept: application/json: the
//          change over the server's last second. Sockets[] > "Socket ID", "Uncore" > "Uncore Counters", "Core
//          Aggregate" > "Core Counters" (its src/pcm-sensor-server.cpp). Its counters since start ("/") are printed to
//          six digits, which after a day is a resolution of 100 J: not usable
// Gives    package and DRAM energy per socket, and SocketValues
// Units    J, bytes, us in; uJ, bytes per second, Hz, ratio out
// Errors   unavailable, timeout, malformed; reported at each read until an answer is valid again
// Cost     a thread that sends a request once a second, and a tick that only takes its result; the answer has about 3
//          KB per CPU
// Threads  read() by one owner; requests run on its own thread
//
// Each second of the server counts once: a second that was seen already is requested again after kAgain; a missed one
// makes the next reading a lower bound. A tick takes energy in proportion to the elapsed time, so that seconds do not
// alternate between none and two; no energy is lost. Values are up to two seconds old.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "agent/collect/energy_reading.hpp"
#include "agent/collect/pcm_answer.hpp"
#include "common/clock.hpp"
#include "common/http/client.hpp"
#include "common/sample.hpp"

namespace wattle::agent {

// Energy that was counted but not reported yet, and the time in which it was used.
class EnergyReservoir {
 public:
  void put(std::uint64_t energy_uj, Duration over);
  // Takes the part for an interval; no value if it is empty. Takes all if it covers less time than that.
  std::optional<std::uint64_t> take(Duration interval);
  std::uint64_t energy_uj() const { return energy_uj_; }

 private:
  std::uint64_t energy_uj_ = 0;
  Duration over_{};
};

// Recognises each second of the server once.
class PcmWindows {
 public:
  enum class Seen { fresh, again, after_gap };
  // `body` is the answer at `now`; `interval` is the second that it covers.
  Seen see(std::string_view body, Duration interval, MonoTime now);

 private:
  std::string last_;
  std::optional<MonoTime> since_;
  Duration counted_{};
};

class Pcm {
 public:
  // Sends a first request, then starts the thread in any case, because the server may be started later.
  static std::unique_ptr<Pcm> start(const PcmEndpoint& endpoint);
  // Error of the first request; no value if it was answered.
  const std::optional<Error>& first_error() const { return first_error_; }
  std::size_t socket_count();
  void read(EnergyReadings& out, std::vector<SocketValues>& sockets, const Clock& clock, CollectErrors& errors);

 private:
  struct Socket {
    unsigned id = 0;
    bool has_dram = false;
    EnergyReservoir package, dram;
    SocketValues values;
  };
  explicit Pcm(const PcmEndpoint& endpoint);
  // Returns the time until the next request.
  std::chrono::milliseconds ask();
  void note(const PcmAnswer& answer, bool missed);

  const SystemClock clock_;  // the server's seconds are in real time
  http::Client client_;
  std::string subject_;
  PcmWindows windows_;
  std::optional<Error> first_error_;
  std::optional<MonoTime> read_at_;
  std::mutex mutex_;  // guards the next three
  std::vector<Socket> sockets_;
  std::optional<Error> error_;
  bool gap_ = false;
  std::jthread thread_;
};

}  // namespace wattle::agent
