#include "agent/collect/pcm.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/stopped_within.hpp"

namespace wattle::agent {

namespace {
__extension__ using U128 = unsigned __int128;
constexpr std::chrono::milliseconds kTimeout{800};
constexpr std::chrono::milliseconds kPeriod{
    980};  // slightly shorter than the server's second, so that it does not fall behind
constexpr std::chrono::milliseconds kAgain{250};
constexpr std::size_t kMaxBody_bytes = 8 << 20;
constexpr double kMaxEnergy_j = 1e6;  // per socket and second

Duration of_us(double us) { return Duration(static_cast<Duration::rep>(std::min(us, 1e9) * 1e3)); }
std::uint64_t uj(double joules) {
  return static_cast<std::uint64_t>(std::llround(std::min(joules, kMaxEnergy_j) * 1e6));
}
}  // namespace

void EnergyReservoir::put(std::uint64_t energy_uj, Duration over) {
  energy_uj_ += energy_uj;
  over_ += over;
}

std::optional<std::uint64_t> EnergyReservoir::take(Duration interval) {
  if (over_ <= Duration{} || interval <= Duration{}) return std::nullopt;
  std::uint64_t part = energy_uj_;
  if (interval < over_)
    part = static_cast<std::uint64_t>(static_cast<U128>(energy_uj_) * static_cast<std::uint64_t>(interval.count()) /
                                      static_cast<std::uint64_t>(over_.count()));
  energy_uj_ -= part;
  over_ -= std::min(over_, interval);
  return part;
}

PcmWindows::Seen PcmWindows::see(std::string_view body, Duration interval, MonoTime now) {
  if (body == last_) return Seen::again;
  last_.assign(body);
  if (!since_) {
    since_ = now;
    counted_ = {};
    return Seen::fresh;
  }
  counted_ += interval;
  // Answers arrive at any moment of a second, so a difference of up to one second is not a gap.
  const Duration missing = (now - *since_) - counted_;
  if (missing < interval * 3 / 2) return Seen::fresh;
  since_ = now;
  counted_ = {};
  return Seen::after_gap;
}

Pcm::Pcm(const PcmEndpoint& endpoint)
    : client_(endpoint.host, endpoint.port, kMaxBody_bytes),
      subject_("http://" + endpoint.host + ":" + std::to_string(endpoint.port) + "/persecond") {
  client_.accept("application/json");
}

std::unique_ptr<Pcm> Pcm::start(const PcmEndpoint& endpoint) {
  std::unique_ptr<Pcm> pcm(new Pcm(endpoint));
  pcm->ask();
  pcm->first_error_ = pcm->error_;
  pcm->thread_ = std::jthread([raw = pcm.get()](const std::stop_token& stop) {
    auto wait = kPeriod;
    while (!stopped_within(stop, wait)) wait = raw->ask();
  });
  return pcm;
}

std::size_t Pcm::socket_count() {
  const std::lock_guard lock(mutex_);
  return sockets_.size();
}

std::chrono::milliseconds Pcm::ask() {
  const MonoTime begin = clock_.mono();
  auto answer = client_.request("GET", "/persecond", "", kTimeout);
  const MonoTime now = clock_.mono();
  std::optional<Error> error;
  std::optional<PcmAnswer> reading;
  auto seen = PcmWindows::Seen::again;
  if (!answer) {
    error = answer.error();
  } else if (answer->status != 200) {
    error = Error{Errc::malformed, subject_, "answers with status " + std::to_string(answer->status),
                  "is it pcm-sensor-server?"};
  } else if (reading = parse_pcm(answer->body); !reading) {
    error = Error{Errc::malformed, subject_, "the answer is not that of pcm-sensor-server", "is it another server?"};
  } else {
    seen = windows_.see(answer->body, of_us(reading->interval_us), now);
  }
  const std::lock_guard lock(mutex_);
  error_ = std::move(error);
  if (error_) return kPeriod;
  if (seen == PcmWindows::Seen::again) return kAgain;
  note(*reading, seen == PcmWindows::Seen::after_gap);
  // Subtracts the duration of the answer from the wait.
  return std::max(kAgain, kPeriod - std::chrono::duration_cast<std::chrono::milliseconds>(now - begin));
}

void Pcm::note(const PcmAnswer& answer, bool missed) {
  const Duration interval = of_us(answer.interval_us);
  const double interval_s = seconds(interval);
  gap_ = gap_ || missed;
  for (const auto& from : answer.sockets) {
    if (!from.id || !from.package_j || !(interval_s > 0)) continue;
    auto to = std::find_if(sockets_.begin(), sockets_.end(), [&](const auto& one) { return one.id == *from.id; });
    if (to == sockets_.end()) to = sockets_.insert(to, Socket{*from.id, false, {}, {}, {}});
    to->package.put(uj(*from.package_j), interval);
    // The server shows 0 for processors without a DRAM counter.
    to->has_dram = to->has_dram || (from.dram_j && *from.dram_j > 0);
    if (from.dram_j) to->dram.put(uj(*from.dram_j), interval);
    SocketValues& values = to->values;
    values = SocketValues{};
    values.socket = *from.id;
    if (from.dram_read_bytes) values.dram_read_bytes_per_s = *from.dram_read_bytes / interval_s;
    if (from.dram_write_bytes) values.dram_write_bytes_per_s = *from.dram_write_bytes / interval_s;
    values.frequency_hz = mean_frequency_hz(from, answer.interval_us);
    for (const auto& ratio : from.package_c_state_ratios) {
      if (!ratio) break;
      values.package_c_state_ratios.push_back(*ratio);
    }
  }
}

void Pcm::read(EnergyReadings& out, std::vector<SocketValues>& sockets, const Clock& clock, CollectErrors& errors) {
  const MonoTime now = clock.mono();
  const std::lock_guard lock(mutex_);
  out.clear();
  if (error_) errors.emplace_back("pcm", *error_);
  for (auto& socket : sockets_) {
    const auto add_domain = [&](EnergyKind kind, const char* base, EnergyReservoir& from) {
      DomainEnergy reading{base + std::to_string(socket.id), kind, socket.id, std::nullopt, gap_};
      if (read_at_)
        reading.energy_uj = from.take(now - *read_at_);
      else
        from = {};  // from before the first interval
      out.push_back(std::move(reading));
    };
    add_domain(EnergyKind::package, "package-", socket.package);
    if (socket.has_dram) add_domain(EnergyKind::dram, "dram-", socket.dram);
    if (!error_) sockets.push_back(socket.values);
  }
  read_at_ = now;
  gap_ = false;
}

}  // namespace wattle::agent
