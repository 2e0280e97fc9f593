// A run of a trainer made for tests: models in a scratch folder, and a history of them in a store in memory, with packs
// behind its records.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "support/counting_remote.h"
#include "support/expect.h"
#include "support/memory_remote.h"
#include "support/random_checkpoint.h"
#include "sync/pusher.h"

namespace wdelta {

class PushedRun {
 public:
  // A model of three shards and 3 MiB, in which a number decides about a few weights: models of different numbers
  // differ in those.
  void WriteModel(const std::string& name, unsigned number) const {
    MadeCheckpoint made;
    made.with_index = true;
    for (const char* shard : {"a", "b", "c"}) {
      MadeTensor tensor{shard, Dtype::kBF16, {kElements}, Bytes(2 * kElements)};
      for (size_t i = 0; i < tensor.data.size(); i += 2) tensor.data[i] = static_cast<uint8_t>(i / 512 * 7 + i / 2);
      for (size_t i = 0; i < 100; ++i) tensor.data[(i * 4099 + number * 101) * 2] ^= static_cast<uint8_t>(number);
      made.shards.push_back({.name = "m-" + std::string(shard) + ".safetensors", .tensors = {std::move(tensor)}});
    }
    made.companions = {{"config.json", "{}"}};
    WriteCheckpoint(folder, name, made);
  }
  static constexpr uint64_t kElements = 512 << 10;
  static constexpr uint64_t kModelBytes = 3 * 2 * kElements;

  Session Open() const { return Session(std::make_unique<CountingRemote>(OpenMemoryRemote(store), counts)); }
  // As one process would: the session ends with it.
  Result<PushReport> Push(PushOptions options) const {
    Session session = Open();
    options.source = folder / options.source;
    return PushToHistory(session, options, context);
  }
  Result<PushReport> Push(const char* name) const { return Push(PushOptions{.source = name}); }
  // Models "1" to `count`, pushed one after the other.
  void PushMany(unsigned count) const {
    for (unsigned number = 1; number <= count; ++number) {
      WriteModel(std::to_string(number), number);
      REQUIRE_OK(Push(std::to_string(number).c_str()));
    }
  }
  std::string ObjectOf(uint64_t record) const {
    Session session = Open();
    const auto read = session.history().Read(record);
    REQUIRE_OK(read);
    const RecordEntry& entry = (*read)->entry;
    return ObjectKey((entry.delta ? entry.delta : entry.anchor)->objects.at(0).sha256);
  }
  std::vector<std::string> Keys(const std::string& prefix) const {
    std::vector<std::string> keys;
    for (const auto& [key, object] : store->Objects()) {
      if (key.starts_with(prefix)) keys.push_back(key);
    }
    return keys;
  }
  bool Noted(const std::string& words) const {
    for (const std::string& note : *notes) {
      if (note.find(words) != std::string::npos) return true;
    }
    return false;
  }

  const ScratchFolder folder;
  const std::shared_ptr<MemoryStore> store = std::make_shared<MemoryStore>();
  const std::shared_ptr<RemoteCounts> counts = std::make_shared<RemoteCounts>();
  const std::shared_ptr<std::vector<std::string>> notes = std::make_shared<std::vector<std::string>>();
  const Context context{.note = [all = notes](const std::string& note) { all->push_back(note); }};
};

}  // namespace wdelta
