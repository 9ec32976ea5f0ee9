// checkpoint: a directory of networks that survives crashes; each network has a manifest with the digest of its
// weights.
// Source   <dir>/<number>.safetensors and .json; numbers rise with each save, and the manifest is written last. Named
//          checkpoints (<name>.safetensors, .json) stay until they are replaced, at most kMaxNamed
// Gives    the newest checkpoint whose manifest, digest, schema and tensors are valid, and why newer ones were skipped
// Units    see Manifest
// Errors   not_found (no checkpoint), malformed (no valid one, with the fault of each; an invalid name), out_of_range
//          (too many names), io; each names the file
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

// The baseline that the candidate is anchored to; the checkpoint stores both (models/frozen/prefixed).
struct TrustedNetwork {
  std::string name;  // the checkpoint that it was loaded from, or promoted as
  bool on_prior = true;
  std::string certificate;
};

struct Manifest {
  std::string schema;                     // hash of the feature layout that the weights were trained on
  std::uint64_t step = 0;                 // gradient steps
  WallTime wall;                          // time of the save
  std::map<std::string, double> figures;  // free form: losses, scores; finite
  std::string network;                    // SHA-256 of only the network, set by the saver; empty: unknown
  std::string reward;                     // reward preset of the training; empty: unknown
  std::optional<bool> on_prior;           // see QNetwork; unset: unknown
  std::string certificate;  // evidence for it before it has served (models/frozen/pretrained); may be empty
  std::optional<TrustedNetwork> trusted;
};

// The contents of a manifest, and the fault that prevents loading it, if any.
struct ListedCheckpoint {
  std::string name;  // number or name
  bool named = false;
  Manifest manifest;
  std::string sha256;  // expected digest of the weights
  std::uint64_t bytes = 0;
  std::string fault;  // why load() and load_newest() refuse it; empty: they accept it
};

struct LoadedCheckpoint {
  Weights tensors;
  Manifest manifest;
  std::string name;            // number or name
  std::string file;            // path of the weights
  std::vector<Error> skipped;  // newer ones, newest first
};

class CheckpointDir {
 public:
  // Creates the directory if it does not exist. Keeps the `keep` newest checkpoints, at least 1.
  static Result<CheckpointDir> open_(const std::string& path, std::size_t keep = 3);
  // Returns the path of the weights.
  Result<std::string> save(const Weights& tensors, const Manifest& manifest) const;
  Result<LoadedCheckpoint> load_newest(const std::string& schema) const;
  // Saves under a name: a letter, then letters, digits, - and _, at most 64. Replaces a checkpoint of the same name.
  static constexpr std::size_t kMaxNamed = 64;
  Result<std::string> save_as(const std::string& name, const Weights& tensors, const Manifest& manifest) const;
  // Loads by number or name.
  Result<LoadedCheckpoint> load(const std::string& name, const std::string& schema) const;
  // Lists all checkpoints that load_newest() considers, including damaged ones: numbered ones first, newest first, then
  // named ones by name. Reads each one whole, and again only if its files changed since the last call.
  Result<std::vector<ListedCheckpoint>> list(const std::string& schema) const;
  const std::string& path() const { return path_; }

 private:
  CheckpointDir(std::string path, std::size_t keep) : path_(std::move(path)), keep_(keep) {}
  Result<std::vector<std::uint64_t>> numbers() const;  // numbers of manifests and weights, newest first
  Result<std::string> write(const std::string& stem, const Weights& tensors, const Manifest& manifest) const;
  Status prune(std::uint64_t newest) const;
  std::string path_;
  std::size_t keep_;
  // Keyed by stem: size and time of the two files, and the fault found in that version.
  struct Examined {
    std::string version, fault;
  };
  mutable std::map<std::string, Examined> examined_;
};

}  // namespace wattle::models
