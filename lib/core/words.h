// The few words that the public face and the rooms of the library share.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

// Seen by users of the shared library; everything else is hidden.
#define WDELTA_EXPORT __attribute__((visibility("default")))

namespace wdelta {

// What became of a tensor or a file between two checkpoints.
enum class ChangeKind { kSame, kChanged, kAdded, kRemoved, kReshaped, kRetyped };

// How much time to spend on making a delta small.
enum class Level { kFast, kDefault, kMax };

// Which files beside the weights belong to a checkpoint, as shell patterns on their relative path: `exclude` wins over
// `include`, which wins over the default choice (*.json *.jinja *.txt *.model *.tiktoken *.py *.md up to 64 MiB).
struct FileChoice {
  std::vector<std::string> include, exclude;
};

// Counted over the whole model. An added, reshaped or retyped tensor counts as changed in all its elements. A type of
// less than a byte is counted in bytes.
struct Totals {
  uint64_t elements_total = 0, elements_changed = 0;
  uint64_t bytes_total = 0, bytes_changed = 0;
  uint64_t tensors_total = 0, tensors_changed = 0, tensors_added = 0, tensors_removed = 0;
  uint64_t files_changed = 0;  // companions and shard headers that were added, removed or changed
  double sparsity() const {    // 1 - changed / total
    return elements_total ? 1.0 - static_cast<double>(elements_changed) / static_cast<double>(elements_total) : 1.0;
  }
};

// How to talk to a remote. Zero is "as it suits".
struct TransferOptions {
  unsigned jobs = 0;              // transfers at a time
  uint64_t bytes_per_second = 0;  // over all of them; 0: no limit
  unsigned retries = 8;           // attempts after the first
  double connect_timeout = 10;    // seconds
  double idle_timeout = 30;       // without a byte moving
  double timeout = 0;             // for one attempt; 0: none
  std::string endpoint, region;   // S3
  bool path_style = false;        // S3: bucket in the path, also where the host name would do
  std::string ca_file;            // certificates to trust instead of the system's
};

// Takes something worth telling that is no error: a file left out, a delta already applied.
using NoteSink = std::function<void(const std::string& note)>;

}  // namespace wdelta
