// A stop belongs to the calls that have its token, and to no other.
#include <doctest/doctest.h>

#include <thread>

#include "core/sleep.h"
#include "core/stopwatch.h"
#include "support/expect.h"
#include "support/random_checkpoint.h"
#include "wdelta.h"

namespace wdelta {
namespace {

PushRequest PushOf(const ScratchFolder& folder, const std::string& name) {
  WriteCheckpoint(folder, name + "/model", {.shards = {{.tensors = {Ramp("w", 100)}}}});
  PushRequest request;
  request.source = folder / (name + "/model");
  request.remote = "file://" + folder / (name + "/store");
  request.anchor = true;
  return request;
}

TEST_CASE("a call that was stopped can be made again in the same process") {
  const ScratchFolder folder;
  const PushRequest push = PushOf(folder, "a");
  const StopSource source;
  const Context stopped{.stop = source.token()};
  source.Request();
  CHECK_FAILS(Push(push, stopped), ErrorKind::kInterrupted, "interrupted");
  CHECK_FAILS(Push(push, stopped), ErrorKind::kInterrupted, "interrupted");
  REQUIRE_OK(Push(push, {.stop = StopSource().token()}));

  PullRequest pull;
  pull.remote = push.remote;
  pull.folder = folder / "replica";
  CHECK_FAILS(Pull(pull, stopped), ErrorKind::kInterrupted, "interrupted");
  REQUIRE_OK(Pull(pull, {}));
  CHECK(folder.Read("replica/current/model.safetensors") == folder.Read("a/model/model.safetensors"));
}

TEST_CASE("calls with different tokens do not stop each other") {
  const ScratchFolder folder;
  PushRequest first = PushOf(folder, "a"), second = PushOf(folder, "b");
  first.ready = second.ready = folder / "ready";  // both wait for it
  const StopSource source, other;
  Result<PushReport> waited = Error{};
  std::thread waiting([&] { waited = Push(second, {.stop = other.token()}); });
  std::thread stopping([&] {
    static_cast<void>(SleepFor(0.1, {}));
    source.Request();
  });
  CHECK_FAILS(Push(first, {.stop = source.token()}), ErrorKind::kInterrupted, "interrupted while waiting");
  folder.Write("ready", "");
  stopping.join();
  waiting.join();
  REQUIRE_OK(waited);
}

TEST_CASE("a pause ends when its time is over, or at a stop") {
  const Stopwatch watch;
  REQUIRE_OK(SleepFor(0.06, {}));
  REQUIRE_OK(SleepFor(0, {}));
  CHECK(watch.seconds() >= 0.06);
  const StopSource source;
  std::thread stopping([&] {
    static_cast<void>(SleepFor(0.05, {}));
    source.Request();
  });
  CHECK_FAILS(SleepFor(600, source.token()), ErrorKind::kInterrupted, "interrupted");
  CHECK_FAILS(SleepFor(0, source.token()), ErrorKind::kInterrupted, "interrupted");
  CHECK(watch.seconds() < 60);
  stopping.join();
}

}  // namespace
}  // namespace wdelta
