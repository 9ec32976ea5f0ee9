#include "models/frozen/checkpoint.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "common/digest.hpp"
#include "common/dir.hpp"
#include "models/frozen/frozen_network.hpp"
#include "observations.hpp"

namespace wattle::models {

using namespace test;

namespace {

class TemporaryDir {
 public:
  TemporaryDir() {
    std::string pattern = (std::filesystem::temp_directory_path() / "wattle-checkpoint-XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  TemporaryDir(const TemporaryDir&) = delete;
  TemporaryDir& operator=(const TemporaryDir&) = delete;
  ~TemporaryDir() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

CheckpointDir open(const std::string& path) {
  auto dir = CheckpointDir::open_(path);
  REQUIRE(dir);
  return *dir;
}

Weights small(float value) { return {{"a", {{2}, {value, -value}}}}; }

std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void overwrite(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

std::vector<std::string> names(const std::string& path) {
  std::vector<std::string> all;
  for (const auto& entry : std::filesystem::directory_iterator(path)) all.push_back(entry.path().filename());
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace

TEST_CASE("SHA-256 is that of the standard") {
  CHECK(sha256_hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256_hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST_CASE("a network is restored from its checkpoint with its manifest") {
  const TemporaryDir temporary;
  const auto dir = open(temporary.path() + "/deep/er");
  const Weights saved = weights(1);
  const Manifest manifest{"layout-1", 42, wall_from_ns(1'700'000'000'123'456'789), {{"loss", 0.1}, {"score", -3.5}}};
  REQUIRE(dir.save(saved, manifest));
  const auto loaded = dir.load_newest("layout-1");
  REQUIRE(loaded);
  CHECK(loaded->skipped.empty());
  CHECK(loaded->manifest.step == 42);
  CHECK(loaded->manifest.wall == manifest.wall);
  CHECK(loaded->manifest.figures == manifest.figures);
  for (const auto& [name, tensor] : saved) CHECK(loaded->tensors.at(name).values == tensor.values);
  CHECK(FrozenNetwork::from_weights(loaded->tensors, loaded->manifest.step, loaded->file));
}

TEST_CASE("only their owner can access the files of a checkpoint") {
  const TemporaryDir temporary;
  const auto dir = open(temporary.path() + "/made");
  REQUIRE(dir.save(weights(1), {"layout-1", 1, wall_from_ns(1), {}}));
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(temporary.path())) {
    if (!entry.is_regular_file()) continue;
    ++files;
    CHECK((entry.status().permissions() & std::filesystem::perms(077)) == std::filesystem::perms::none);
  }
  CHECK(files >= 2);
}

TEST_CASE("every flipped bit of weights or manifest is detected, and the previous checkpoint is used") {
  const TemporaryDir temporary;
  const auto dir = open(temporary.path());
  REQUIRE(dir.save(small(1), {"s", 1, {}, {{"loss", 0.5}}}));
  REQUIRE(dir.save(small(2), {"s", 2, {}, {{"loss", 0.25}}}));
  for (const char* end : {".safetensors", ".json"}) {
    const std::string path = temporary.path() + "/0000000002" + end;
    const std::string good = contents(path);
    for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
      std::string bad = good;
      bad[bit / 8] = static_cast<char>(static_cast<unsigned char>(bad[bit / 8]) ^ (1U << (bit % 8)));
      overwrite(path, bad);
      const auto loaded = dir.load_newest("s");
      REQUIRE(loaded);
      REQUIRE(loaded->manifest.step == 1);
      REQUIRE(loaded->skipped.size() == 1);
      REQUIRE(loaded->skipped[0].subject == path);
    }
    overwrite(path, good);
  }
  CHECK(dir.load_newest("s")->manifest.step == 2);
}

TEST_CASE("three checkpoints stay, and the remains of an interrupted save are removed") {
  const TemporaryDir temporary;
  const auto dir = open(temporary.path());
  overwrite(temporary.path() + "/0000000001.safetensors", "weights whose manifest was never written");
  overwrite(temporary.path() + "/0000000001.json.tmp.99", "half");
  overwrite(temporary.path() + "/notes.txt", "not ours");
  for (std::uint64_t step = 1; step <= 5; ++step) REQUIRE(dir.save(small(1), {"s", step, {}, {}}));
  CHECK(names(temporary.path()) == std::vector<std::string>{"0000000004.json", "0000000004.safetensors",
                                                            "0000000005.json", "0000000005.safetensors",
                                                            "0000000006.json", "0000000006.safetensors", "notes.txt"});
  CHECK(dir.load_newest("s")->manifest.step == 5);
}

TEST_CASE("the newest is the one saved last, even if it has fewer steps") {
  const TemporaryDir temporary;
  const auto dir = open(temporary.path());
  for (const std::uint64_t step : {500U, 1U}) REQUIRE(dir.save(small(1), {"s", step, {}, {}}));
  CHECK(open(temporary.path()).load_newest("s")->manifest.step == 1);
}

TEST_CASE("checkpoints of another feature layout, without weights or full of garbage are skipped with the reason") {
  const TemporaryDir temporary;
  const auto dir = open(temporary.path());
  CHECK(dir.load_newest("new").error().code == Errc::not_found);
  REQUIRE(dir.save(small(1), {"old", 1, {}, {}}));
  REQUIRE(dir.save(small(2), {"new", 2, {}, {}}));
  std::filesystem::remove(temporary.path() + "/0000000002.safetensors");
  overwrite(temporary.path() + "/0000000003.json", "garbage");
  overwrite(temporary.path() + "/0000000004.json", R"({"manifest_sha256":)" + std::string(900'000, '['));
  const auto loaded = dir.load_newest("new");
  REQUIRE_FALSE(loaded);
  CHECK(loaded.error().code == Errc::malformed);
  const std::string message = loaded.error().message();
  for (const char* part :
       {"was trained on feature layout old, not new", "0000000002.safetensors", "0000000003.json", "0000000004.json"})
    CHECK(message.find(part) != std::string::npos);
}

TEST_CASE("a non-finite figure and an impossible directory are refused") {
  const TemporaryDir temporary;
  const auto dir = open(temporary.path());
  const auto saved = dir.save(small(1), {"s", 1, {}, {{"loss", std::nan("")}}});
  REQUIRE_FALSE(saved);
  CHECK(saved.error().message().find("figure loss") != std::string::npos);
  overwrite(temporary.path() + "/file", "");
  CHECK_FALSE(CheckpointDir::open_(temporary.path() + "/file/below"));
  CHECK_FALSE(CheckpointDir::open_(temporary.path(), 0));
}

TEST_CASE("a named checkpoint stays while numbered ones are removed, and is replaced by its name") {
  const TemporaryDir temporary;
  const CheckpointDir dir = open(temporary.path());
  Manifest manifest;
  manifest.schema = "s";
  manifest.network = "digest";
  REQUIRE(dir.save_as("promoted", small(7), manifest));
  for (int i = 0; i < 5; ++i) {
    manifest.step = static_cast<std::uint64_t>(i);
    REQUIRE(dir.save(small(static_cast<float>(i)), manifest));
  }
  CHECK(dir.load("promoted", "s")->tensors.at("a").values[0] == 7.0F);
  CHECK(dir.load_newest("s")->tensors.at("a").values[0] == 4.0F);
  CHECK(dir.load("4", "s")->manifest.step == 3);
  CHECK(dir.load("4", "s")->name == "4");
  REQUIRE(dir.save_as("promoted", small(8), manifest));
  CHECK(dir.load("promoted", "s")->tensors.at("a").values[0] == 8.0F);
  CHECK(dir.load("promoted", "s")->manifest.network == "digest");
  CHECK(dir.load("promoted", "s")->name == "promoted");
  CHECK_FALSE(dir.load("1", "s"));  // removed
  CHECK_FALSE(dir.load("promoted", "other"));
}

TEST_CASE("checkpoints are listed with their manifests, and with their faults") {
  const TemporaryDir temporary;
  const CheckpointDir dir = open(temporary.path());
  Manifest manifest;
  manifest.schema = "s";
  for (const std::uint64_t step : {10U, 20U}) {
    manifest.step = step;
    REQUIRE(dir.save(small(1), manifest));
  }
  manifest.schema = "other";
  REQUIRE(dir.save_as("old-layout", small(1), manifest));
  REQUIRE(dir.save_as("torn", small(1), manifest));
  overwrite(temporary.path() + "/torn.json", "{");
  overwrite(temporary.path() + "/stranger.txt", "x");
  const auto list = dir.list("s");
  REQUIRE(list);
  REQUIRE(list->size() == 4);
  CHECK((*list)[0].name == "2");
  CHECK((*list)[0].manifest.step == 20);
  CHECK((*list)[0].fault.empty());
  CHECK((*list)[0].bytes == contents(temporary.path() + "/0000000002.safetensors").size());
  CHECK((*list)[0].sha256 == sha256_hex(contents(temporary.path() + "/0000000002.safetensors")));
  CHECK((*list)[1].name == "1");
  CHECK((*list)[2].name == "old-layout");
  CHECK((*list)[2].named);
  CHECK((*list)[2].fault.find("feature layout other") != std::string::npos);
  CHECK((*list)[3].name == "torn");
  CHECK((*list)[3].fault.find("torn.json") != std::string::npos);
}

TEST_CASE("the list shows a fault for each checkpoint that loading refuses, as soon as it is damaged") {
  const TemporaryDir temporary;
  const CheckpointDir dir = open(temporary.path());
  Manifest manifest;
  manifest.schema = "s";
  for (int i = 0; i < 3; ++i) REQUIRE(dir.save(small(1), manifest));
  REQUIRE(dir.save_as("kept", small(1), manifest));
  const auto faults = [&](const CheckpointDir& of) {
    std::map<std::string, std::string> out;
    const auto listed = of.list("s");
    REQUIRE(listed);
    for (const ListedCheckpoint& each : *listed) out[each.name] = each.fault;
    return out;
  };
  for (const auto& each : faults(dir)) CHECK_MESSAGE(each.second.empty(), each.first, ": ", each.second);
  const std::string path = temporary.path() + "/";
  overwrite(path + "0000000003.safetensors", contents(path + "0000000003.safetensors") + "x");
  std::filesystem::remove(path + "0000000002.safetensors");
  std::filesystem::remove(path + "0000000001.json");
  overwrite(path + "kept.safetensors", "");
  const CheckpointDir other = open(temporary.path());  // as after a restart
  for (const CheckpointDir* each : {&dir, &other}) {
    const auto found = faults(*each);
    REQUIRE(found.size() == 4);
    CHECK(found.at("3").find("its SHA-256 is not the one in") != std::string::npos);
    CHECK(found.at("2").find("0000000002.safetensors") != std::string::npos);
    CHECK(found.at("1").find("0000000001.json") != std::string::npos);
    CHECK(found.at("kept").find("is damaged") != std::string::npos);
    for (const auto& [name, fault] : found) {
      const auto loaded = each->load(name, "s");
      REQUIRE_FALSE(loaded);
      CHECK(loaded.error().message() == fault);
    }
  }
  // A replaced checkpoint has no fault.
  REQUIRE(dir.save_as("kept", small(2), manifest));
  CHECK(faults(dir).at("kept").empty());
  CHECK(faults(other).at("kept").empty());
}

TEST_CASE("names that would leave the directory, or look like a number, are refused") {
  const TemporaryDir temporary;
  const CheckpointDir dir = open(temporary.path());
  for (const char* name : {"", "../x", "a/b", "1st", "0000000001", ".hidden", "a b", "x.json"}) {
    const auto saved = dir.save_as(name, small(1), {});
    REQUIRE_FALSE(saved);
    CHECK(saved.error().code == Errc::malformed);
  }
  CHECK_FALSE(dir.load("../../etc/passwd", "s"));
  CHECK(names(temporary.path()).empty());
  for (std::size_t i = 0; i < CheckpointDir::kMaxNamed; ++i)
    REQUIRE(dir.save_as("n" + std::to_string(i), small(1), {}));
  const auto full = dir.save_as("one-more", small(1), {});
  REQUIRE_FALSE(full);
  CHECK(full.error().code == Errc::out_of_range);
  CHECK(dir.save_as("n3", small(2), {}));  // an existing one may be replaced
}

}  // namespace wattle::models
