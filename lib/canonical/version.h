// What Stitch, slime and SGLang keep in a store, as values: versions, each a folder of its own, numbered without gaps,
// and a pointer to the newest one that names the run as well. A version is a whole checkpoint or a delta from the
// version before. Version 0 is the model that a run began with, and lies in no store.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"
#include "history/record.h"

namespace wdelta {

inline constexpr const char* kVersionPrefix = "updates/";
inline constexpr uint64_t kMaxVersion = 999'999'999'999;
inline constexpr uint64_t kMaxPointerBytes = 4096;

struct VersionPointer {
  std::string run;  // may be empty
  uint64_t version = 0;
  bool operator==(const VersionPointer&) const = default;
};

// "run7/weight_v000012"
std::string PointerText(const VersionPointer& pointer);
// Also without the run, and with white space around it. kIntegrity for anything else: what cannot be read is never
// taken for version 0.
Result<VersionPointer> ParsePointer(std::string_view text);

// 12 as "000012", and as the name of its folder, "weight_v000012".
std::string VersionName(uint64_t version);
std::string VersionFolder(uint64_t version);
// The other way round; nullopt for what is no such name.
std::optional<uint64_t> VersionNumber(std::string_view name);
std::optional<uint64_t> VersionOfFolder(std::string_view name);

// A run's name stands in the pointer before the last '/'. kUsage for one that others could not read back.
Result<> CheckRunName(std::string_view run);

}  // namespace wdelta
