// The table of foreign formats.
#include "foreign/foreign.h"

namespace wdelta {

namespace {

struct ForeignFormat {
  bool (*looks_like)(const std::string& path);
  Result<std::unique_ptr<ForeignDelta>> (*open)(const std::string& path, const Environment& environment);
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

Result<std::unique_ptr<ForeignDelta>> OpenForeign(const std::string& path, const Environment& environment) {
  const ForeignFormat* format = FindFormat(path);
  if (!format) return Error{ErrorKind::kIntegrity, "'" + path + "' is no delta of a known format"};
  return format->open(path, environment);
}

Result<bool> LooksLikeAnyDelta(const std::string& path) {
  if (path == "-" || LooksForeign(path)) return true;
  return LooksLikeDelta(path);
}

Result<std::unique_ptr<DeltaReader>> OpenOwnDelta(const std::string& path, Trust trust, const Context& context) {
  if (!LooksForeign(path)) return OpenDelta(path, trust, context);
  Error error{ErrorKind::kUsage, "'" + path + "' is a delta of another system, which can only be read with its base",
              "'wdelta pack --base CKPT " + path + " -o FILE' makes a pack of it"};
  error.path = path;
  return error;
}

}  // namespace wdelta
