// copy: values of the objects that a mirror follows, and their changes since the owner last took them.
// Bounds   at most one change per object, however often it changed, because the owner may be late
// Rules    an object equal to its last value is ignored; an object missing from a list was deleted
// Errors   none; objects without a key are left out
// Threads  the mirror's thread fills it; take() and size() from any
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/json/value.hpp"
#include "common/kube/node.hpp"
#include "common/kube/pod.hpp"
#include "common/kube/reflector.hpp"

namespace wattle::kube {

template <class T>
struct Change {
  std::string key;
  std::shared_ptr<const T> now;  // the object; null: deleted
  bool followed = false;         // true: seen in a watch; false: found by a list
};

template <class T>
class Copy final : public Sink {
 public:
  // `woken` is called on the mirror's thread when there are changes to take.
  Copy(T (*read)(const SortedJson&), std::function<void()> woken) : read_(read), woken_(std::move(woken)) {}

  // Returns the changes, in no particular order.
  std::vector<Change<T>> take() {
    std::map<std::string, Change<T>> changed;
    {
      const std::lock_guard lock(mutex_);
      changed.swap(changed_);
    }
    std::vector<Change<T>> changes;
    changes.reserve(changed.size());
    for (auto& [key, change] : changed) changes.push_back(std::move(change));
    return changes;
  }
  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return objects_.size();
  }

  void begin_list() override {
    listing_ = true;
    listed_.clear();
  }
  void put(const SortedJson& object) override {
    auto value = std::make_shared<const T>(read_(object));
    const std::string key = key_of(*value);
    if (key.empty()) return;
    if (listing_) listed_.insert(key);
    {
      const std::lock_guard lock(mutex_);
      std::shared_ptr<const T>& kept = objects_[key];
      if (kept && *kept == *value) return;
      kept = std::move(value);
      changed_[key] = {key, kept, !listing_};
    }
    // A list wakes the owner only when complete, because it is cheaper to handle its objects together.
    if (!listing_) woken_();
  }
  void end_list() override {
    listing_ = false;
    {
      const std::lock_guard lock(mutex_);
      for (auto object = objects_.begin(); object != objects_.end();)
        object = listed_.contains(object->first) ? std::next(object) : drop(object, false);
    }
    listed_.clear();
    woken_();
  }
  void erase(const SortedJson& object) override {
    const std::string key = key_of(read_(object));
    {
      const std::lock_guard lock(mutex_);
      const auto found = objects_.find(key);
      if (found == objects_.end()) return;
      drop(found, true);
    }
    woken_();
  }

 private:
  using Objects = std::map<std::string, std::shared_ptr<const T>>;
  typename Objects::iterator drop(typename Objects::iterator object, bool followed) {
    changed_[object->first] = {object->first, nullptr, followed};
    return objects_.erase(object);
  }

  T (*read_)(const SortedJson&);
  const std::function<void()> woken_;
  bool listing_ = false;  // used only by the mirror's thread, like listed_
  std::set<std::string> listed_;
  mutable std::mutex mutex_;  // guards objects_ and changed_
  Objects objects_;
  std::map<std::string, Change<T>> changed_;
};

extern template class Copy<Node>;
extern template class Copy<Pod>;

}  // namespace wattle::kube
