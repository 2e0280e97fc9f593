#include <algorithm>
#include <iterator>

#include "remote/retry.h"
#include "remote/stores.h"

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

Result<Listing> ListAll(Remote& remote, const std::string& prefix, const std::string& after) {
  Listing listing;
  for (std::string last = after;;) {
    WD_ASSIGN(ObjectPage page, remote.List(prefix, last, 1000));
    if (listing.now == 0) listing.now = page.now;
    std::move(page.objects.begin(), page.objects.end(), std::back_inserter(listing.objects));
    if (!page.more || page.objects.empty()) return listing;
    last = listing.objects.back().key;
  }
}

bool LooksLikeRemote(std::string_view text) {
  for (const std::string_view scheme : {"file://", "s3://", "hf://", "http://", "https://"})
    if (text.starts_with(scheme)) return true;
  return false;
}

}  // namespace wdelta
