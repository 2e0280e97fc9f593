// The table of foreign formats.
#include "foreign/foreign.h"

namespace wdelta {

namespace {

struct ForeignFormat {
  bool (*looks_like)(const std::string& path);
  Result<std::unique_ptr<ForeignDelta>> (*open)(const std::string& path);
};

const ForeignFormat kFormats[] = {
    {LooksLikeCanonical, OpenCanonical}, {LooksLikeSkyrl, OpenSkyrl}, {LooksLikePrime, OpenPrime},
    {LooksLikeGrail, OpenGrail},         {LooksLikeTrl, OpenTrl},
};

const ForeignFormat* FindFormat(const std::string& path) {
  for (const ForeignFormat& format : kFormats) {
    if (format.looks_like(path)) return &format;
  }
  return nullptr;
}

}  // namespace

bool LooksForeign(const std::string& path) {
  return path != "-" && FindFormat(path);
}

Result<std::unique_ptr<ForeignDelta>> OpenForeign(const std::string& path) {
  const ForeignFormat* format = FindFormat(path);
  if (!format) return Error{ErrorKind::kIntegrity, "'" + path + "' is no delta of a known format"};
  return format->open(path);
}

}  // namespace wdelta
