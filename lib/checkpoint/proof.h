// Evidence that a checkpoint on disk is what somebody says it is.
#pragma once

#include <string>

#include "checkpoint/identity.h"

namespace wdelta {

// In this run every byte of the checkpoint at path() was read, or written from bytes that were checked, and it is in
// this state. Only a walk over the bytes can make one: the class Rebuilding of walk/rebuild.cc. A copy becomes current,
// a base, or the content of a record only with a proof; what a state file says about a folder is a hint where to look
// and nothing more.
class Proof {
 public:
  const std::string& path() const { return path_; }
  const StateDigests& digests() const { return digests_; }
  const Sha256Digest& state() const { return digests_.state; }

 private:
  friend class Rebuilding;
  Proof(std::string path, const StateDigests& digests) : path_(std::move(path)), digests_(digests) {}
  std::string path_;
  StateDigests digests_;
};

}  // namespace wdelta
