// The steps of a small training run, published in a store in memory: as records of a history, or as versions for other
// systems. Each step changes a few elements; the checkpoints lie in a folder, to compare with.
#pragma once

#include <memory>

#include "support/memory_remote.h"
#include "support/random_checkpoint.h"
#include "sync/remote_history.h"

namespace wdelta {

class StoredRun {
 public:
  StoredRun();

  const ScratchFolder& folder() const { return folder_; }
  MemoryStore& store() { return *store_; }
  Remote& remote() { return *remote_; }

  // Writes the checkpoint of a step and returns its path: run/STEP. About three blocks in two shards.
  std::string Write(uint16_t step);
  Tree TreeOfStep(uint16_t step) const { return folder_.TreeOf("run/" + std::to_string(step)); }
  uint64_t model_bytes() const;  // of all files of a checkpoint

  // Appends a record; the first one is an anchor, and so is one that asks for it.
  void Push(uint16_t step, bool anchor = false);
  const RecordEntry& entry(uint64_t number) const { return records_[number - 1].entry; }
  std::string ObjectOf(uint64_t number) const;  // the key of its only object

  // Publishes the next version, whole or as a delta from the one before, and moves the pointer.
  void Publish(uint16_t step, bool whole);

 private:
  ScratchFolder folder_;
  std::shared_ptr<MemoryStore> store_ = std::make_shared<MemoryStore>();
  std::unique_ptr<Remote> remote_;
  std::vector<Record> records_;
  std::vector<std::string> published_;  // the checkpoint of each version
};

}  // namespace wdelta
