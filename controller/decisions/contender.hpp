// contender: a policy or network that decides, or that would replace another one, with its reason and its figures.
// Gives    a sentence for people, the same on the page, in the API and on the command line
// Units    difference_ratio: predicted joules of its choices beyond those of `with`, over the larger of the two;
//          negative: it costs less
// Threads  values
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace wattle::controller {

// Comparison on copies of the cluster (placement/judge/paired_simulation).
struct ComparedWith {
  std::string with;
  double difference_ratio = 0;
  std::uint64_t blocks = 0;     // newest blocks of ten decisions that the ratio is the mean of
  std::optional<double> age_s;  // of the newest of them; unset: before a restart
};

struct Contender {
  std::string who;  // "the plan", "the network NAME", "the network that is learned here", "the policy NAME"
  bool serves = false;
  std::string why;          // it serves, or does not; empty: nothing is known that speaks for or against it
  std::string certificate;  // what a judgement before it was shipped says for it; empty: it has none
  std::vector<ComparedWith> compared;
};

// "the network shipped:weighted serves: ...", without a full stop.
std::string contender_text(const Contender& one);

}  // namespace wattle::controller
