// A pack that is ready to be sent, with all that a record says of it: states, totals, and the objects that it is cut
// into, by their digests. It is a proof: only a function that wrote the pack in this run, or one that read and checked
// all of it, can make one. So the pack is read once more at most, to be sent.
#pragma once

#include "history/record.h"
#include "pack/container.h"
#include "reports.h"

namespace wdelta {

class ReadyPack {
 public:
  const std::string& path() const { return path_; }
  bool anchor() const { return anchor_; }
  const StateDigests& base() const { return base_; }  // all zero for an anchor
  const StateDigests& result() const { return result_; }
  const Totals& totals() const { return totals_; }
  const std::vector<ObjectRef>& objects() const { return objects_; }  // one after the other they are the pack
  // The pack as a way from record `from`; 0 for an anchor.
  Way AsWay(uint64_t from) const { return {from, objects_}; }

 private:
  friend Result<ReadyPack> WritePack(const Checkpoint* base, const Checkpoint& next, const std::string& path,
                                     Level level, const Context& context);
  friend Result<ReadyPack> CheckPack(const std::string& path, const Context& context);
  ReadyPack(std::string path, const DeltaIndex& index, const std::vector<ContainerPart>& parts);

  std::string path_;
  bool anchor_;
  StateDigests base_, result_;
  Totals totals_;
  std::vector<ObjectRef> objects_;
};

// Writes the difference between two open checkpoints as a pack, or all of `next` if `base` is null. Both are read once.
Result<ReadyPack> WritePack(const Checkpoint* base, const Checkpoint& next, const std::string& path, Level level,
                            const Context& context);

// For a pack that a user gives, or that an interrupted push left: reads all of it (a pack of several objects twice) and
// checks it. kIntegrity if it is damaged, kRefused for a container that does not travel in parts.
Result<ReadyPack> CheckPack(const std::string& path, const Context& context);

}  // namespace wdelta
