// checkpoint: a directory of networks that survives crashes; each has a manifest that vouches for its weights.
// Source   <dir>/<number>.safetensors and .json; numbers rise with each save, and the manifest is written last. Those that
//          were given a name (<name>.safetensors, .json) stay until they are given away, at most kMaxNamed
// Gives    the newest checkpoint whose manifest, digest, schema and tensors are right, and why newer ones were skipped
// Units    see Manifest
// Errors   not_found (no checkpoint), malformed (none that is valid, with each one's fault; a name that is none),
//          out_of_range (too many names), io; each names the file
// Threads  single owner; one process at a time per directory
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.hpp"
#include "common/result.hpp"
#include "models/frozen/q_network.hpp"

namespace wattle::models {

// The network that a learned one is held to, which the checkpoint holds beside it (models/frozen/prefixed).
struct TrustedNetwork {
  std::string name;  // the checkpoint that it was loaded from, or promoted as
  bool on_prior = true;
  std::string certificate;
};

struct Manifest {
  std::string schema;                     // hash of the feature layout that the weights were trained on
  std::uint64_t step = 0;                 // gradient steps
  WallTime wall;                          // when it was saved
  std::map<std::string, double> figures;  // free: losses, scores; finite
  std::string network;                    // SHA-256 of the network alone, by who saved it; empty: not told
  std::string reward;                     // preset that it was learned for; empty: not told
  std::optional<bool> on_prior;           // as QNetwork has it; absent: not told
  std::string certificate;  // what speaks for it before it has served (models/frozen/pretrained); may be empty
  std::optional<TrustedNetwork> trusted;
};

// What a manifest says, without a look at the weights.
struct ListedCheckpoint {
  std::string name;  // its number, or the name it was given
  bool named = false;
  Manifest manifest;
  std::string sha256;  // that the weights must have
  std::uint64_t bytes = 0;
  std::string fault;  // why it could not be loaded; empty: the manifest is right
};

struct LoadedCheckpoint {
  Weights tensors;
  Manifest manifest;
  std::string name;            // its number, or the name it was given
  std::string file;            // the weights' path
  std::vector<Error> skipped;  // newer ones, newest first
};

class CheckpointDir {
 public:
  // Makes the directory if there is none. `keep` newest checkpoints stay, at least 1.
  static Result<CheckpointDir> open_(const std::string& path, std::size_t keep = 3);
  // Returns the path of the weights.
  Result<std::string> save(const Weights& tensors, const Manifest& manifest) const;
  Result<LoadedCheckpoint> load_newest(const std::string& schema) const;
  // Under a name: a letter, then letters, digits, - and _, at most 64. What had it before is replaced.
  static constexpr std::size_t kMaxNamed = 64;
  Result<std::string> save_as(const std::string& name, const Weights& tensors, const Manifest& manifest) const;
  // By number or name.
  Result<LoadedCheckpoint> load(const std::string& name, const std::string& schema) const;
  // Numbered ones first, newest first; then named ones by name.
  Result<std::vector<ListedCheckpoint>> list(const std::string& schema) const;
  const std::string& path() const { return path_; }

 private:
  CheckpointDir(std::string path, std::size_t keep) : path_(std::move(path)), keep_(keep) {}
  Result<std::vector<std::uint64_t>> numbers() const;  // of manifests and weights, newest first
  Result<std::string> write(const std::string& stem, const Weights& tensors, const Manifest& manifest) const;
  Status prune(std::uint64_t newest) const;
  std::string path_;
  std::size_t keep_;
};

}  // namespace wattle::models
