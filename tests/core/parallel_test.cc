#include "core/parallel.h"

#include <atomic>
#include <chrono>
#include <set>
#include <thread>

#include "support/expect.h"

namespace wdelta {
namespace {

void Dawdle(uint64_t index) {
  std::this_thread::sleep_for(std::chrono::microseconds(index * 7919 % 400));
}

TEST_CASE("results are emitted in order, each once, whatever the number of threads") {
  for (const unsigned threads : {1u, 2u, 5u}) {
    std::vector<uint64_t> emitted;
    REQUIRE_OK(RunOrdered<uint64_t>(
        200, LimitsFor(threads, {}),
        [&](uint64_t index, unsigned worker) -> Result<uint64_t> {
          CHECK(worker < threads);
          Dawdle(index);
          return index * index;
        },
        [&](uint64_t index, uint64_t result) -> Result<> {
          CHECK(result == index * index);
          emitted.push_back(index);
          return {};
        }));
    REQUIRE(emitted.size() == 200);
    for (uint64_t i = 0; i < emitted.size(); ++i) CHECK(emitted[i] == i);
  }
}

TEST_CASE("nothing to do is success") {
  const auto never_work = [](uint64_t, unsigned) -> Result<int> { return Error{ErrorKind::kUsage, "called"}; };
  const auto never_emit = [](uint64_t, int) -> Result<> { return Error{ErrorKind::kUsage, "called"}; };
  CHECK(RunOrdered<int>(0, LimitsFor(3, {}), never_work, never_emit).ok());
}

TEST_CASE("no more pieces are begun ahead of the last one handed over than the limit says") {
  const RunLimits limits{4, 6};
  std::atomic<uint64_t> emitted{0};
  REQUIRE_OK(RunOrdered<int>(
      300, limits,
      [&](uint64_t index, unsigned) -> Result<int> {
        CHECK(index < emitted.load() + limits.in_flight);
        return 0;
      },
      [&](uint64_t index, int) -> Result<> {
        if (index % 50 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));  // others wait meanwhile
        ++emitted;
        return {};
      }));
  CHECK(emitted == 300);
}

TEST_CASE("two emits never run at the same time") {
  std::atomic<int> inside{0};
  REQUIRE_OK(RunOrdered<int>(
      200, LimitsFor(5, {}), [](uint64_t, unsigned) -> Result<int> { return 0; },
      [&](uint64_t index, int) -> Result<> {
        CHECK(inside.fetch_add(1) == 0);
        Dawdle(index % 5);
        inside.fetch_sub(1);
        return {};
      }));
}

TEST_CASE("each thread has its own worker number at any time") {
  std::atomic<int> busy[4] = {};
  REQUIRE_OK(RunOrdered<int>(
      200, {4, 8},
      [&](uint64_t index, unsigned worker) -> Result<int> {
        CHECK(busy[worker].fetch_add(1) == 0);
        Dawdle(index);
        busy[worker].fetch_sub(1);
        return 0;
      },
      [](uint64_t, int) -> Result<> { return {}; }));
}

TEST_CASE("an error of the work ends the run: it is returned, and nothing behind it is emitted") {
  for (const unsigned threads : {1u, 4u}) {
    std::atomic<uint64_t> begun{0};
    uint64_t emitted = 0;
    const auto result = RunOrdered<int>(
        100000, LimitsFor(threads, {}),
        [&](uint64_t index, unsigned) -> Result<int> {
          ++begun;
          if (index == 50) return Error{ErrorKind::kDenied, "number 50"};
          return 0;
        },
        [&](uint64_t, int) -> Result<> {
          ++emitted;
          return {};
        });
    CHECK_FAILS(result, ErrorKind::kDenied, "number 50");
    CHECK(emitted <= 50);
    CHECK(begun <= 51 + LimitsFor(threads, {}).in_flight);
  }
}

TEST_CASE("an error of the emit ends the run") {
  std::atomic<uint64_t> begun{0};
  uint64_t emitted = 0;
  const auto result = RunOrdered<int>(
      100000, LimitsFor(3, {}),
      [&](uint64_t, unsigned) -> Result<int> {
        ++begun;
        return 0;
      },
      [&](uint64_t index, int) -> Result<> {
        if (index == 10) return Error{ErrorKind::kLocalIo, "no room for 10"};
        ++emitted;
        return {};
      });
  CHECK_FAILS(result, ErrorKind::kLocalIo, "no room for 10");
  CHECK(emitted == 10);
  CHECK(begun <= 11 + LimitsFor(3, {}).in_flight);
}

TEST_CASE("of several errors the first one to happen wins") {
  const auto result = RunOrdered<int>(
      8, {1, 4},
      [](uint64_t index, unsigned) -> Result<int> {
        return Error{ErrorKind::kLocalIo, "number " + std::to_string(index)};
      },
      [](uint64_t, int) -> Result<> { return {}; });
  CHECK_FAILS(result, ErrorKind::kLocalIo, "number 0");
}

TEST_CASE("limits are sane for any number of threads that is asked for") {
  CHECK(LimitsFor(0, {}).threads >= 1);
  CHECK(LimitsFor(1, {}).threads == 1);
  CHECK(LimitsFor(1, {}).in_flight >= 1);
  CHECK(LimitsFor(1000000, {}).threads <= 1000);
  CHECK(LimitsFor(5, {}).in_flight >= 5);
}

TEST_CASE("a run ends as interrupted once a stop was requested, and the next one does not") {
  uint64_t emitted = 0;
  const auto run = [&](const StopSource& source, const StopToken& stop) {
    emitted = 0;
    return RunOrdered<int>(
        1000, {1, 4, stop},
        [&](uint64_t index, unsigned) -> Result<int> {
          if (index == 5) source.Request();
          return 0;
        },
        [&](uint64_t, int) -> Result<> {
          ++emitted;
          return {};
        });
  };
  const StopSource source;
  CHECK_FAILS(run(source, source.token()), ErrorKind::kInterrupted, "interrupted");
  CHECK(emitted < 10);
  REQUIRE_OK(run(source, StopSource().token()));
  REQUIRE_OK(run(source, {}));
  CHECK(emitted == 1000);
}

}  // namespace
}  // namespace wdelta
