// checkpoint: a directory of networks that survives crashes; each has a manifest that vouches for its weights.
// Source   <dir>/<number>.safetensors and .json; numbers rise with each save, and the manifest is written last
// Gives    the newest checkpoint whose manifest, digest, schema and tensors are right, and why newer ones were skipped
// Units    see Manifest
// Errors   not_found (no checkpoint), malformed (none that is valid, with each one's fault), io; each names the file
// Threads  single owner; one process at a time per directory
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/clock.hpp"
#include "common/result.hpp"
#include "models/frozen/q_network.hpp"

namespace wattle::models {

struct Manifest {
  std::string schema;                     // hash of the feature layout that the weights were trained on
  std::uint64_t step = 0;                 // gradient steps
  WallTime wall;                          // when it was saved
  std::map<std::string, double> figures;  // free: losses, scores; finite
};

struct LoadedCheckpoint {
  Weights tensors;
  Manifest manifest;
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
  const std::string& path() const { return path_; }

 private:
  CheckpointDir(std::string path, std::size_t keep) : path_(std::move(path)), keep_(keep) {}
  Result<std::vector<std::uint64_t>> numbers() const;  // of manifests and weights, newest first
  Status prune(std::uint64_t newest) const;
  std::string path_;
  std::size_t keep_;
};

}  // namespace wattle::models
