#include "sync/object_transfer.h"

#include <filesystem>
#include <fstream>
#include <random>

#include "remote/retry.h"
#include "support/expect.h"
#include "support/faulty_remote.h"
#include "support/memory_remote.h"
#include "support/scratch_folder.h"

namespace wdelta {

namespace {

constexpr uint64_t kMiB = 1 << 20;

// A store with objects of these sizes, and the way that they are.
struct Stored {
  std::shared_ptr<MemoryStore> store = std::make_shared<MemoryStore>();
  Way way;
  std::string content;
};

Stored StoreObjects(const std::vector<uint64_t>& sizes) {
  Stored stored;
  std::mt19937_64 random(sizes.size());
  for (const uint64_t size : sizes) {
    Bytes bytes(size);
    for (uint64_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(random());
    stored.content += AsText(bytes);
    stored.way.objects.push_back({DigestSha256(bytes), size});
    stored.store->Put(ObjectKey(stored.way.objects.back().sha256), bytes);
  }
  return stored;
}

std::string ContentOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("a pack of several objects is fetched whole, and fetched no second time") {
  const Stored stored = StoreObjects({9 * kMiB + 5, 1, 8 * kMiB, 3 * kMiB});
  const ScratchFolder folder;
  const PackStore packs(folder.path());
  const auto remote = OpenMemoryRemote(stored.store);
  CHECK(packs.MissingBytes(stored.way) == stored.way.bytes());
  uint64_t wire_bytes = 0;
  REQUIRE_OK(packs.Fetch(*remote, stored.way, 3, {}, &wire_bytes));
  CHECK(wire_bytes == stored.way.bytes());
  CHECK(ContentOf(packs.PathOf(stored.way)) == stored.content);
  CHECK(packs.MissingBytes(stored.way) == 0);
  REQUIRE_OK(packs.Fetch(*remote, stored.way, 3, {}, &wire_bytes));
  CHECK(wire_bytes == stored.way.bytes());
}

TEST_CASE("after an interruption only what is missing is fetched") {
  const Stored stored = StoreObjects({40 * kMiB, 20 * kMiB});
  const ScratchFolder folder;
  const PackStore packs(folder.path());
  uint64_t first = 0, second = 0;
  const auto failing =
      WithFaults(OpenMemoryRemote(stored.store), InOrder({Fault::kNone, Fault::kNone, Fault::kNone, Fault::kFail}));
  CHECK_FAILS(packs.Fetch(*failing, stored.way, 1, {}, &first), ErrorKind::kTransient, "");
  CHECK(first == 24 * kMiB);
  CHECK(packs.MissingBytes(stored.way) == 36 * kMiB);
  const auto remote = OpenMemoryRemote(stored.store);
  REQUIRE_OK(packs.Fetch(*remote, stored.way, 2, {}, &second));
  CHECK(second == 36 * kMiB);
  CHECK(ContentOf(packs.PathOf(stored.way)) == stored.content);
}

TEST_CASE("an object that was damaged on the way is fetched again, alone") {
  const Stored stored = StoreObjects({2 * kMiB, 3 * kMiB});
  const ScratchFolder folder;
  const PackStore packs(folder.path());
  const auto remote = WithFaults(OpenMemoryRemote(stored.store), InOrder({Fault::kNone, Fault::kFlipBit}));
  uint64_t wire_bytes = 0;
  REQUIRE_OK(packs.Fetch(*remote, stored.way, 1, {}, &wire_bytes));
  CHECK(ContentOf(packs.PathOf(stored.way)) == stored.content);
  CHECK(wire_bytes == 8 * kMiB);
}

TEST_CASE("an object that is damaged in the store is named, and nothing is left that looks like the pack") {
  const Stored stored = StoreObjects({kMiB, kMiB});
  const std::string key = ObjectKey(stored.way.objects[1].sha256);
  Bytes damaged = stored.store->Objects().at(key).bytes;
  damaged[7] ^= 1;
  stored.store->Put(key, damaged);
  const ScratchFolder folder;
  const PackStore packs(folder.path());
  const auto remote = OpenMemoryRemote(stored.store);
  uint64_t wire_bytes = 0;
  CHECK_FAILS(packs.Fetch(*remote, stored.way, 2, {}, &wire_bytes), ErrorKind::kIntegrity, key);
  CHECK_FALSE(packs.Has(stored.way));
  damaged.pop_back();
  stored.store->Put(key, damaged);
  CHECK_FAILS(packs.Fetch(*remote, stored.way, 2, {}, &wire_bytes), ErrorKind::kIntegrity, "its record says");
}

TEST_CASE("a pack that the disk has damaged since is fetched again") {
  const Stored stored = StoreObjects({kMiB});
  const ScratchFolder folder;
  const PackStore packs(folder.path());
  const auto remote = OpenMemoryRemote(stored.store);
  uint64_t wire_bytes = 0;
  REQUIRE_OK(packs.Fetch(*remote, stored.way, 1, {}, &wire_bytes));
  const std::string path = packs.PathOf(stored.way);
  std::fstream(path, std::ios::binary | std::ios::in | std::ios::out).seekp(100).put('x').put('y');
  REQUIRE_OK(packs.Fetch(*remote, stored.way, 1, {}, &wire_bytes));
  CHECK(ContentOf(path) == stored.content);
}

TEST_CASE("whatever is fetched through faults is right") {
  const uint64_t seed = std::random_device{}();
  INFO("seed ", seed);
  const Stored stored = StoreObjects({17 * kMiB, 9 * kMiB, 5});
  for (uint64_t round = 0; round < 10; ++round) {
    const ScratchFolder folder;
    const PackStore packs(folder.path());
    TransferOptions options;
    options.retries = 50;
    const auto remote =
        WithRetries(WithFaults(OpenMemoryRemote(stored.store),
                               AtRandom(seed + round, {Fault::kFail, Fault::kCutShort, Fault::kFlipBit}, 5)),
                    options, {}, {[](double) { return Result<>(); }, [] { return 0.0; }});
    uint64_t wire_bytes = 0;
    const Result<> fetched = packs.Fetch(*remote, stored.way, 2, {}, &wire_bytes);
    if (!fetched.ok()) CHECK(fetched.error().kind == ErrorKind::kIntegrity);
    if (fetched.ok()) CHECK(ContentOf(packs.PathOf(stored.way)) == stored.content);
  }
}

TEST_CASE("only the packs that are named are kept") {
  const Stored one = StoreObjects({10}), two = StoreObjects({20, 3});
  const ScratchFolder folder;
  const PackStore packs(folder.path());
  uint64_t wire_bytes = 0;
  for (const Stored* stored : {&one, &two}) {
    REQUIRE_OK(packs.Fetch(*OpenMemoryRemote(stored->store), stored->way, 1, {}, &wire_bytes));
  }
  folder.Write("left.wdp.part", "x");
  packs.KeepOnly({two.way});
  CHECK_FALSE(packs.Has(one.way));
  CHECK(packs.Has(two.way));
  CHECK_FALSE(folder.Exists("left.wdp.part"));
}

}  // namespace wdelta
