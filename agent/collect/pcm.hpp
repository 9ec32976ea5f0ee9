// pcm: what Intel's pcm-sensor-server tells of each socket: joules, DRAM traffic, C-states, frequency.
// Source   GET /persecond of pcm-sensor-server (package pcm; default port 9738) with Accept: application/json: the change
//          over the server's last second. Sockets[] > "Socket ID", "Uncore" > "Uncore Counters", "Core Aggregate" >
//          "Core Counters" (its src/pcm-sensor-server.cpp). What it counts since its start ("/") is printed to six digits,
//          which after a day is 100 J: of no use
// Gives    package and DRAM energy per socket, and SocketValues
// Units    J, bytes, us in; uJ, bytes per second, Hz, ratio out
// Errors   unavailable, timeout, malformed; told at each read until an answer is good again
// Cost     a thread that asks once a second, and a tick that only takes what it found; the answer has some 3 KB a CPU
// Threads  read() by one owner; the asking thread is its own
//
// Each second of the server counts once: a second already seen is asked for again after kAgain, one that was missed makes
// the next reading a lower bound. A tick is given as much of what was counted as of its time has passed, so that it does
// not see no second and then two; nothing is lost by this. What is told is up to two seconds old.
#pragma once

#include <condition_variable>
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

// Energy that was counted and not yet told, and the time in which it was used.
class EnergyReservoir {
 public:
  void put(std::uint64_t energy_uj, Duration over);
  // The part of an interval; absent when there is nothing to take from. All when there is less time in it than that.
  std::optional<std::uint64_t> take(Duration interval);
  std::uint64_t energy_uj() const { return energy_uj_; }

 private:
  std::uint64_t energy_uj_ = 0;
  Duration over_{};
};

// The seconds of the server, each once.
class PcmWindows {
 public:
  enum class Seen { fresh, again, after_gap };
  // `body` is the answer that came at `now`; `interval` the second that it tells of.
  Seen see(std::string_view body, Duration interval, MonoTime now);

 private:
  std::string last_;
  std::optional<MonoTime> since_;
  Duration counted_{};
};

class Pcm {
 public:
  // Asks once, then starts to ask by itself, whatever came: the server may be started later.
  static std::unique_ptr<Pcm> start(const PcmEndpoint& endpoint);
  ~Pcm();
  // Of the first question; absent when it was answered.
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
  // How long until the next question.
  std::chrono::milliseconds ask();
  void keep_asking();
  void note(const PcmAnswer& answer, bool missed);

  const SystemClock clock_;  // the server's seconds are real ones
  http::Client client_;
  std::string subject_;
  PcmWindows windows_;
  std::optional<Error> first_error_;
  std::optional<MonoTime> read_at_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;  // this and what follows: under mutex_
  std::vector<Socket> sockets_;
  std::optional<Error> error_;
  bool gap_ = false;
  std::thread thread_;
};

}  // namespace wattle::agent
