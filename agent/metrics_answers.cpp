#include "agent/metrics.hpp"

namespace wattle::agent {

namespace {
// Bounds of the Prometheus histogram: every fourth of the program's eight buckets per octave, from 64 us to 69 s.
constexpr std::size_t kEach = WATTLE_ANSWER_PARTS / 2, kFirst = 3 * WATTLE_ANSWER_PARTS - 1,
                      kLast = 23 * WATTLE_ANSWER_PARTS - 1;
}  // namespace

void Metrics::write_answers(MetricsText& text) const {
  const auto labels_of = [](const AnswerValues& answers) {
    std::string labels;
    add_label(labels, "workload", answers.workload);
    return labels;
  };
  const auto each = [&](std::string_view name, std::string_view help, const auto& number_of) {
    text.begin(name, "counter", help);
    for (const AnswerValues& answers : provisioning_.answers) text.value(number_of(answers), labels_of(answers));
  };
  each("wattle_agent_answers_over_total", "Answers that took longer than the workload's target",
       [](const AnswerValues& of) { return of.over; });
  each("wattle_agent_answers_guessed_total", "Answers on connections that can carry several requests at once",
       [](const AnswerValues& of) { return of.guessed; });
  text.begin("wattle_agent_answer_seconds", "histogram",
             "Time to the first byte of an answer on a connection that the workload accepted");
  for (const AnswerValues& answers : provisioning_.answers) {
    const std::string labels = labels_of(answers);
    std::uint64_t up_to = 0, all = 0;
    for (const std::uint64_t bucket : answers.all.buckets) all += bucket;
    for (std::size_t i = 0; i <= kLast; ++i) {
      up_to += answers.all.buckets[i];
      if (i >= kFirst && (i - kFirst) % kEach == 0) text.bucket(answer_bucket_end_s(i), up_to, labels);
    }
    text.histogram_end(answer_sum_s(answers.all), all, labels);
  }
}

}  // namespace wattle::agent
