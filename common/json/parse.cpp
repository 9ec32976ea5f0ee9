// Parses received JSON. nlohmann's parser keeps its own stack and emits events; JsonBuilder builds values from them and
// stops before the first value that would exceed a limit.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/json/object.hpp"
#include "common/json/value.hpp"

namespace wattle {
namespace {

// Heap size of a block in glibc: one word before each block, steps of 16, at least 32.
constexpr std::size_t heap_bytes(std::size_t size) { return std::max<std::size_t>(32, (size + 8 + 15) / 16 * 16); }
std::size_t text_bytes(std::size_t size) { return size > 15 ? heap_bytes(size + 1) : 0; }

// A growing list exists three times: once in the old block and twice in the new one.
constexpr std::size_t kGrowth = 3;
// Up to this size a repeated key is found at once; in larger objects, when the object ends.
constexpr std::size_t kSmallObject = 16;
constexpr JsonLimits kOwn{64 << 20, 1 << 30, 64};

}  // namespace

// Receives the events of one parse.
template <class Json>
class JsonBuilder {
  using Text = nlohmann::json::string_t;
  using Member = typename Json::Member;

 public:
  JsonBuilder(const JsonLimits& limits, const JsonKeep& keep) : limits_(limits), keep_(keep) {}

  bool null() { return add(Json()); }
  bool boolean(bool value) { return add(Json(value)); }
  bool number_integer(std::int64_t value) { return add(Json(value)); }
  bool number_unsigned(std::uint64_t value) { return add(Json(value)); }
  bool number_float(double value, const Text&) { return add(Json(value)); }
  bool binary(nlohmann::json::binary_t&) { return false; }
  bool string(Text& text) {
    if (skipped_ != 0 || skip_next_) return add(Json());
    if (!afford(heap_bytes(sizeof(std::string)) + text_bytes(text.size()))) return false;
    return add(Json(std::string_view(text)));
  }
  bool start_object(std::size_t) { return open(JsonKind::object, sizeof(typename Json::Object)); }
  bool start_array(std::size_t) { return open(JsonKind::array, sizeof(typename Json::Array)); }
  bool end_object() {
    if (skipped_ == 0 && !settle(*open_.back())) return false;
    return close();
  }
  bool end_array() { return close(); }

  bool key(Text& text) {
    if (skipped_ != 0) return true;
    if (keep_ && !keep_(open_.size(), text)) {
      skip_next_ = true;
      return true;
    }
    auto& members = open_.back()->object_->members;
    member_ = nullptr;
    if (members.size() <= kSmallObject) {
      const auto same = std::find_if(members.begin(), members.end(), [&](Member* each) { return each->key == text; });
      if (same != members.end()) {
        member_ = *same;
        member_->value = Json();
        return true;
      }
    }
    // Settling a large object needs as much memory again as its list.
    if (!afford(heap_bytes(sizeof(Member)) + text_bytes(text.size()) + (kGrowth + 2) * sizeof(void*))) return false;
    members.reserve(
        std::max<std::size_t>(members.size() + 1, members.size() == members.capacity() ? 2 * members.size() : 0));
    member_ = members.emplace_back(new Member{std::string(std::string_view(text)), {}});
    return true;
  }

  bool parse_error(std::size_t byte, const std::string&, const nlohmann::json::exception& error) {
    error_ = Error{Errc::malformed, {}, "is not JSON, byte " + std::to_string(byte), {}};
    if (dynamic_cast<const nlohmann::json::out_of_range*>(&error) != nullptr)
      error_.what = "contains a number that is out of range, byte " + std::to_string(byte);
    return false;
  }

  Json take() { return std::move(root_); }
  Error error(const std::string& subject) const {
    Error out = error_;
    out.subject = subject;
    return out;
  }

 private:
  bool beyond(std::string what) {
    error_ = Error{Errc::out_of_range, {}, std::move(what), {}};
    return false;
  }
  bool afford(std::size_t bytes) {
    if (bytes > limits_.built_bytes - built_bytes_)
      return beyond("takes more than " + std::to_string(limits_.built_bytes) + " bytes of memory");
    built_bytes_ += bytes;
    return true;
  }

  // Returns the place of the next value, or null if a limit is reached.
  Json* place() {
    if (open_.empty()) return &root_;
    if (open_.back()->is_object()) return &member_->value;
    auto& list = *open_.back()->array_;
    if (!afford(kGrowth * sizeof(Json) + (list.empty() ? heap_bytes(sizeof(Json)) : 0))) return nullptr;
    return &list.emplace_back();
  }
  bool add(Json value) {
    if (skipped_ != 0) return true;
    if (std::exchange(skip_next_, false)) return true;
    Json* at = place();
    if (at == nullptr) return false;
    *at = std::move(value);
    return true;
  }
  bool open(JsonKind kind, std::size_t bytes) {
    if (open_.size() + skipped_ >= limits_.depth)
      return beyond("is nested deeper than " + std::to_string(limits_.depth));
    if (skipped_ != 0 || std::exchange(skip_next_, false)) {
      ++skipped_;
      return true;
    }
    if (!afford(heap_bytes(bytes))) return false;
    Json* at = place();
    if (at == nullptr) return false;
    *at = Json(kind);
    open_.push_back(at);
    return true;
  }
  bool close() {
    if (skipped_ != 0)
      --skipped_;
    else
      open_.pop_back();
    return true;
  }

  // Sorts the members if needed and merges duplicate keys: at the place of the first, with the value of the last.
  bool settle(Json& object) {
    auto& members = object.object_->members;
    const auto by_key = [](const Member* a, const Member* b) { return a->key < b->key; };
    if (members.size() > kSmallObject) {
      std::vector<Member*> sorted = members;
      std::stable_sort(sorted.begin(), sorted.end(), by_key);
      bool repeated = false;
      for (std::size_t first = 0, next = 1; next < sorted.size(); ++next) {
        if (sorted[next]->key != sorted[first]->key) {
          first = next;
          continue;
        }
        sorted[first]->value = std::move(sorted[next]->value);
        sorted[next]->value = Json(JsonKind::discarded);
        repeated = true;
      }
      if (repeated) {
        const auto gone = std::stable_partition(members.begin(), members.end(),
                                                [](const Member* each) { return !each->value.is_discarded(); });
        std::for_each(gone, members.end(), [](const Member* each) { delete each; });
        members.erase(gone, members.end());
      }
    }
    if (std::is_same_v<Json, SortedJson>) std::sort(members.begin(), members.end(), by_key);
    return true;
  }

  const JsonLimits limits_;
  const JsonKeep& keep_;
  Json root_;
  std::vector<Json*> open_;
  Member* member_ = nullptr;
  bool skip_next_ = false;
  std::size_t skipped_ = 0;  // depth inside arrays and objects that are left out
  std::size_t built_bytes_ = 0;
  Error error_;
};

template <JsonOrder order>
Result<BasicJson<order>> BasicJson<order>::parse(std::string_view text, const JsonLimits& limits,
                                                 const std::string& subject, const JsonKeep& keep) {
  if (text.size() > limits.text_bytes)
    return fail(Errc::out_of_range, subject, "is longer than " + std::to_string(limits.text_bytes) + " bytes");
  JsonBuilder<BasicJson> builder(limits, keep);
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &builder))
    return tl::unexpected<Error>(builder.error(subject));
  return builder.take();
}

template <JsonOrder order>
BasicJson<order> BasicJson<order>::read(std::string_view text, const JsonLimits& limits, const JsonKeep& keep) {
  auto parsed = parse(text, limits, {}, keep);
  return parsed ? std::move(*parsed) : BasicJson(JsonKind::discarded);
}

template <JsonOrder order>
BasicJson<order> BasicJson<order>::parse(std::string_view text) {
  auto parsed = parse(text, kOwn);
  if (!parsed) throw JsonError(parsed.error().subject + " " + parsed.error().what);
  return std::move(*parsed);
}

template class BasicJson<JsonOrder::sorted>;
template class BasicJson<JsonOrder::added>;

}  // namespace wattle
