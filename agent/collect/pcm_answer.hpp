// pcm_answer: parses the JSON of pcm-sensor-server, and the address of the server. Parses in one pass without a tree:
// on a machine with hundreds of CPUs the text is a megabyte, of which a few lines per socket are used. The server
// prints `nan` for a division by 0, which is not JSON; here it has no value.
// Errors   no value: not an object, truncated, trailing text, nested deeper than 12, no sockets, more than 64 of them
// Threads  pure
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wattle::agent {

struct PcmEndpoint {
  std::string host;
  std::uint16_t port = 0;
};
// "http://127.0.0.1:9738"; the path, if any, must be "/".
std::optional<PcmEndpoint> parse_pcm_endpoint(std::string_view text);

struct PcmSocket {
  std::optional<unsigned> id;
  std::optional<double> package_j, dram_j, dram_read_bytes, dram_write_bytes;
  std::array<std::optional<double>, 11> package_c_state_ratios;  // C0 to C10
  std::optional<double> cycles, reference_cycles, tsc_cycles;    // of its threads, summed
  std::optional<double> frequency_hz;                            // newer servers report it
  unsigned threads = 0;
};

struct PcmAnswer {
  double interval_us = 0;
  std::vector<PcmSocket> sockets;
};

std::optional<PcmAnswer> parse_pcm(std::string_view json);

// Mean frequency of the socket's threads while awake: cycles per reference cycle, times the reference rate.
std::optional<double> mean_frequency_hz(const PcmSocket& socket, double interval_us);

}  // namespace wattle::agent
