#include <fmt/format.h>

#include "codec/zstd_frame.h"
#include "core/blake3_hasher.h"
#include "core/digest.h"
#include "remote/remote.h"
#include "version_stamp.h"  // written by the build
#include "wdelta.h"

namespace wdelta {

VersionInfo Version() {
  const std::string blake3 = Blake3Hasher::LibraryVersion();
  return {WDELTA_VERSION, WDELTA_COMMIT,
          fmt::format("fmt {}.{}.{}, zstd {}, {}{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100,
                      ZstdVersion(), DigestLibraryVersions(), blake3.empty() ? "" : ", blake3 " + blake3)};
}

bool IsRemoteName(std::string_view text) {
  return LooksLikeRemote(text);
}

}  // namespace wdelta
