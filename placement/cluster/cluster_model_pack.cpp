// cluster_model_pack: packs a cluster model to bytes and back.
// Format   "wattle-cluster-model 1\n", SHA-256 of the rest in hex, "\n", the rest (placement/cluster/packed.hpp):
//          demand, forecast, mean request and its weight, curves by node, budget of waiting, waiting of the fleet and
//          by node, variance of requests, budget of lateness, scores of the forecast, pairs of applications
#include "common/digest.hpp"
#include "placement/cluster/cluster_model.hpp"

namespace wattle::placement {

namespace {
constexpr std::string_view kMagic = "wattle-cluster-model 1\n";
constexpr std::size_t kDigestSize = 64;
constexpr std::size_t kMaxBytes = std::size_t{256} << 20;
}  // namespace

std::string ClusterModel::save(const ClusterView& view) const {
  std::map<std::string_view, const PowerCurve*> curves;
  for (const NodeView& node : view.nodes)
    if (node.curve.samples() > 0 && curves.size() < options_.max_curves) curves.emplace(node.name, &node.curve);
  for (const auto& [name, curve] : kept_curves_)
    if (curves.size() < options_.max_curves) curves.emplace(name, &curve);
  PackWriter out;
  demand_.pack(out);
  forecast_.pack(out);
  for (const double value : {arrived_request_.cpu_cores, arrived_request_.memory_bytes, request_weight_})
    out.real(value);
  out.word(curves.size());
  for (const auto& [name, curve] : curves) {
    out.text(name);
    curve->pack(out);
  }
  cpu_wait_.pack(out);
  fleet_waiting_.pack(out);
  std::map<std::string_view, const WaitingModel*> waiting;
  for (const auto& [name, known] : known_)
    if (known.waiting.samples() > 0 && waiting.size() < options_.max_curves) waiting.emplace(name, &known.waiting);
  out.word(waiting.size());
  for (const auto& [name, model] : waiting) {
    out.text(name);
    model->pack(out);
  }
  out.real(request_variance_cores2_);
  late_.pack(out);
  forecast_.pack_scores(out);
  pairs_.pack(out);
  const std::string body = out.take();
  return std::string(kMagic) + sha256_hex(body) + "\n" + body;
}

Status ClusterModel::restore(std::string_view bytes) {
  const auto refused = [](const char* what) {
    return fail(Errc::malformed, "cluster model", what, "remove the file; the controller learns its content again");
  };
  const std::size_t head = kMagic.size() + kDigestSize + 1;
  if (bytes.size() > kMaxBytes) return refused("is too large");
  if (bytes.size() < head || !bytes.starts_with(kMagic)) return refused("has an unknown format or version");
  const std::string_view body = bytes.substr(head);
  if (sha256_hex(body) != bytes.substr(kMagic.size(), kDigestSize)) return refused("is damaged");
  PackReader in(body);
  ClusterModel read(options_);
  read.cpu_wait_ = cpu_wait_;
  read.late_ = late_;
  read.acting_ = acting_;
  read.demand_.unpack(in);
  read.forecast_.unpack(in);
  Resources& mean = read.arrived_request_;
  for (double* value : {&mean.cpu_cores, &mean.memory_bytes, &read.request_weight_}) *value = in.real();
  for (std::size_t left = in.count(16); left > 0 && in.ok(); --left) {
    std::string name = in.text();
    PowerCurve curve = PowerCurve::unpack(in);
    if (read.kept_curves_.size() < options_.max_curves) read.kept_curves_.emplace(std::move(name), curve);
  }
  read.cpu_wait_.unpack(in);
  read.fleet_waiting_ = WaitingModel::unpack(in);
  for (std::size_t left = in.count(16); left > 0 && in.ok(); --left) {
    const std::string name = in.text();
    WaitingModel model = WaitingModel::unpack(in);
    if (read.known_.size() < options_.max_curves) read.known_[name].waiting = model;
  }
  read.request_variance_cores2_ = in.real();
  read.late_.unpack(in);
  read.forecast_.unpack_scores(in);
  read.pairs_.unpack(in);
  if (!in.done() || mean.cpu_cores < 0 || mean.memory_bytes < 0 || read.request_weight_ < 0 ||
      read.request_variance_cores2_ < 0)
    return refused("contains invalid values");
  read.follow_mean_request();
  read.fleet_.cpu_wait_price_w = read.cpu_wait_.price();
  read.fleet_.latency_price = read.latency_price();
  *this = std::move(read);
  return {};
}

}  // namespace wattle::placement
