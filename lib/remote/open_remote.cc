#include "remote/folder_remote.h"
#include "remote/mirror_remote.h"
#include "remote/retry.h"
#include "remote/s3_remote.h"

namespace wdelta {

namespace {

Result<std::unique_ptr<Remote>> OpenPlain(const std::string& url, const TransferOptions& options,
                                          const Context& context) {
  if (url.starts_with("file://")) return OpenFolderRemote(url, context.stop);
  if (url.starts_with("s3://") || url.starts_with("hf://")) return OpenS3Remote(url, options, context);
  if (url.starts_with("http://") || url.starts_with("https://")) return OpenMirrorRemote(url, options, context);
  return Error{ErrorKind::kUsage,
               "the URL of a remote begins with file://, "
               "s3://, hf://, http:// or https://"};
}

}  // namespace

Result<std::unique_ptr<Remote>> OpenRemote(const std::string& url, const TransferOptions& options,
                                           const Context& context) {
  WD_ASSIGN(std::unique_ptr<Remote> plain, OpenPlain(url, options, context));
  return WithRetries(std::move(plain), options, context);
}

bool LooksLikeRemote(std::string_view text) {
  for (const std::string_view scheme : {"file://", "s3://", "hf://", "http://", "https://"})
    if (text.starts_with(scheme)) return true;
  return false;
}

}  // namespace wdelta
