#include "agent/metrics.hpp"

namespace wattle::agent {

void Metrics::write_answers(MetricsText& text) const {
  const auto each = [&](std::string_view name, std::string_view type, std::string_view help, const auto& number_of) {
    text.begin(name, type, help);
    for (const AnswerValues& answers : provisioning_.answers) {
      std::string labels;
      add_label(labels, "workload", answers.workload);
      if (const auto number = number_of(answers)) text.value(*number, labels);
    }
  };
  each("wattle_agent_answers_total", "counter", "Answers on connections that the workload accepted",
       [](const AnswerValues& of) { return std::optional(of.count); });
  each("wattle_agent_answers_over_total", "counter", "Of them those that took longer than its target",
       [](const AnswerValues& of) { return std::optional(of.over); });
  each("wattle_agent_answers_guessed_total", "counter",
       "Of them those on connections that may carry many requests at once",
       [](const AnswerValues& of) { return std::optional(of.guessed); });
  each("wattle_agent_answer_p50_seconds", "gauge", "Median time to the first byte of an answer, of the last minute",
       [](const AnswerValues& of) { return of.p50_s; });
  each("wattle_agent_answer_p99_seconds", "gauge", "99th percentile of it",
       [](const AnswerValues& of) { return of.p99_s; });
}

}  // namespace wattle::agent
