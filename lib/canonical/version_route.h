// What leads to a version: a whole version, or one that is here, or the model that the run began with; and all deltas
// after that. There are no shorter ways.
#pragma once

#include <functional>

#include "canonical/version_store.h"
#include "wdelta.h"

namespace wdelta {

struct VersionWay {
  uint64_t version = 0;
  std::vector<VersionFile> files;
  uint64_t bytes() const;
};

struct VersionRoute {
  uint64_t start = 0;
  std::optional<VersionWay> whole;  // absent: the start is here
  std::vector<VersionWay> deltas;   // rising
  uint64_t bytes() const;
  std::vector<PlanRow> Rows() const;
};

// `is_here`: asked with each version, from the target on backwards. `has_base`: the model that the run began with is,
// too. kNotFound: it does not lead anywhere.
Result<VersionRoute> FindRoute(VersionStore& store, uint64_t target, const std::function<bool(uint64_t)>& is_here,
                               bool has_base);

}  // namespace wdelta
