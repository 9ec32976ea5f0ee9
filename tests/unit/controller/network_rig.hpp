// network_rig: a decider on two nodes, of which one costs four times the watts, with networks that prefer one of them.
#pragma once

#include <doctest/doctest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "tests/unit/controller/decider_rig.hpp"

namespace wattle::controller::test {

// Prefers the dear node where `times` is above 0; at 0 its residual is 0.
struct Wants final : models::QNetwork {
  explicit Wants(float dear) : times(dear) {}
  void residual(const models::Observation& seen, std::span<float> out) const override {
    for (std::size_t i = 0; i < seen.nodes; ++i) out[i] = times * seen.node[i * models::kNodeFeatures + 17];
  }
  std::uint64_t step() const override { return 5; }
  float times;
};

// A dear and a cheap node, pods of a minute, one a second; each runs on the node that it was advised.
struct NetworkRig : DeciderRig {
  std::vector<std::string> nodes{"dear", "cheap"};
  std::vector<std::string> reported;
  std::vector<std::string> went;  // where each pod runs

  NetworkRig(float trusted, const std::string& certificate, float learned)
      : DeciderRig(Mode::shadow, {.mask = {.start_cap = {.least = 100}}}) {
    config.require_evidence = true;
    decider.emplace(
        config, state, networks, clock, [](LearningNews) {}, 1);
    decider->on_event([this](const MonitorEvent& event) { reported.push_back(event.evidence); });
    for (const std::string& name : nodes) {
      std::array<double, placement::kCurvePoints> watts{};
      for (std::size_t k = 0; k < watts.size(); ++k)
        watts[k] = (name == "dear" ? 4 : 1) * (50 + 20 * static_cast<double>(k));
      state.greet(hello_of(name));
      state.adopt_curve(name, placement::PowerCurve::known(watts));
    }
    networks.trust(std::make_shared<Wants>(trusted),
                   {"trusted", "shipped:weighted", "weighted", "shipped:weighted", certificate});
    networks.set(std::make_shared<Wants>(learned), {"learned", ""});
    second();
  }
  void second() {
    clock.advance(std::chrono::seconds(1));
    ++seq;
    for (const std::string& name : nodes) state.apply(name, record_at(seq), clock.mono());
    decider->expire();
  }
  void pod() {
    const std::string name = "p" + std::to_string(went.size());
    wire::Ask small = ask_for(name, nodes);
    small.cpu_request_cores = 0.1;
    small.memory_request_bytes = 1e6;
    decider->asks().ask(small);
    went.push_back(advice());
    second();
    decider->placements().placed(name, went.back(), false);
    if (went.size() > 60) {
      const std::size_t old = went.size() - 61;
      decider->placements().gone("p" + std::to_string(old), went[old]);
    }
  }
  std::string text(std::size_t contender) const { return contender_text(decider->contenders().at(contender)); }
  const LoggedDecision& last() const { return *decider->log().newest("p" + std::to_string(went.size() - 1)); }
  std::string advice() const { return decider->log().entries().back().decision.advice; }
};

}  // namespace wattle::controller::test
