// The route to a version: a start (a whole version in the store, one on this machine, or the run's first model) and
// every delta after it. There are no shortcuts.
#pragma once

#include <functional>

#include "canonical/version_store.h"
#include "sync/lineage.h"

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
  std::vector<PlanStep> Steps() const;
};

// `is_here` is asked with each version, from the target on backwards. `has_base`: the model that the run began with is
// here. kNotFound: there is no route.
Result<VersionRoute> FindRoute(VersionStore& store, uint64_t target, const std::function<bool(uint64_t)>& is_here,
                               bool has_base);

}  // namespace wdelta
