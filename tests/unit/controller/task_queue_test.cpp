#include "controller/task_queue.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <thread>

using namespace wattle;
using namespace wattle::controller;
using namespace std::chrono_literals;

TEST_CASE("a task whose client has left is not done later") {
  auto queue = TaskQueue::open_(4);
  REQUIRE(queue);
  bool done = false;
  const auto gone = (*queue)->call(
      [&] {
        done = true;
        return ready(Result<std::string>(std::string()));
      },
      1ms);
  REQUIRE_FALSE(gone);
  CHECK(gone.error().code == Errc::timeout);
  CHECK(gone.error().what == "is too busy to answer");
  CHECK_FALSE((*queue)->waits());
  finish((*queue)->begin());
  CHECK_FALSE(done);
}

TEST_CASE("a client that leaves during its task learns that the task may still complete") {
  auto queue = TaskQueue::open_(4);
  REQUIRE(queue);
  std::promise<void> left;
  const std::shared_future<void> has_left = left.get_future().share();
  std::atomic<int> done = 0;
  std::thread owner([&] {
    while (done == 0) finish((*queue)->begin());
  });
  const auto work = [&] {
    has_left.wait();
    ++done;
    return ready(Result<std::string>(std::string()));
  };
  // Repeats until the owner has started a task before its timeout.
  std::string reported;
  while (reported != "is still working on it") reported = (*queue)->call(work, 20ms).error().what;
  left.set_value();
  owner.join();
  CHECK(done == 1);
}
