#include <algorithm>

#include "remote/http_client.h"
#include "remote/http_text.h"
#include "remote/ranged_answer.h"
#include "remote/redirect.h"
#include "remote/remote_key.h"
#include "remote/stores.h"

namespace wdelta {

namespace {

// What is this small may be a pointer that changes; a cache on the way shall ask whether it did.
constexpr uint64_t kSmall = 64 << 10;

Error ReadOnly() {
  return Error{ErrorKind::kRefused, "a mirror over http is read only"};
}

class MirrorRemote final : public Remote {
 public:
  MirrorRemote(std::string url, std::string base, const TransferOptions& options, const Context& context)
      : url_(std::move(url)), base_(std::move(base)), client_(options, context) {}

  const std::string& url() const override { return url_; }
  std::vector<std::pair<std::string, std::string>> Describe() override { return {{"mirror", base_}}; }

  Result<ObjectPiece> Read(const std::string& key, uint64_t offset, uint64_t length, const std::string& etag) override {
    WD_TRY(CheckKey(key));
    length = std::min(length, UINT64_MAX - offset);
    ObjectPiece piece;
    HttpAnswer answer;
    if (length > 0) {
      HttpRequest request;
      request.url = base_ + key;
      request.headers = {{"Range", RangeHeader(offset, length)}};
      if (length <= kSmall) request.headers.emplace_back("Cache-Control", "no-cache");
      request.keep = ByteRange{offset, length};
      request.max_answer = std::max(kSmall, length);
      WD_ASSIGN(answer, Ask(std::move(request)));
    }
    if (answer.status == 200 || answer.status == 206) {
      WD_ASSIGN(piece, PieceOf(std::move(answer), offset, length, base_ + key));
    } else if (length > 0 && answer.status != 416) {
      return Explain(answer, key);
    } else {  // nothing was asked for, or the object ends before
      WD_ASSIGN(answer, AskHead(key));
      if (answer.status != 200) return Explain(answer, key);
      WD_ASSIGN(const ObjectInfo info, InfoOf(answer, base_ + key));
      if (length > 0 && offset < info.size)
        return Error{ErrorKind::kTransient, "'" + base_ + key + "': the server gives no bytes from " +
                                                std::to_string(offset) + " on, of " + std::to_string(info.size)};
      piece.size = info.size;
      if (const std::string* told = answer.Header("etag")) piece.etag = *told;
    }
    // Compared here rather than by the server: weak tags never match there, and a place that was redirected to may have
    // tags of its own.
    if (!etag.empty() && piece.etag != etag)
      return Error{ErrorKind::kConflict, "object '" + base_ + key + "' changed while it was read"};
    return piece;
  }

  Result<std::optional<ObjectInfo>> Stat(const std::string& key) override {
    WD_TRY(CheckKey(key));
    WD_ASSIGN(const HttpAnswer answer, AskHead(key));
    if (answer.status == 404 || answer.status == 410) return std::optional<ObjectInfo>();
    if (answer.status != 200) return Explain(answer, key);
    WD_ASSIGN(ObjectInfo info, InfoOf(answer, base_ + key));
    info.key = key;
    return std::optional(std::move(info));
  }

  Result<WriteResult> Write(const std::string&, const ByteSource&, WriteRule, const std::string&) override {
    return ReadOnly();
  }
  Result<> Remove(const std::string&) override { return ReadOnly(); }
  Result<ObjectPage> List(const std::string&, const std::string&, unsigned) override {
    return Error{ErrorKind::kRefused, "a mirror over http cannot list what it has"};
  }

 private:
  // The answer after redirects. A web server redirects from a folder to the same path with a slash behind: a folder is
  // no object.
  Result<HttpAnswer> Ask(HttpRequest request) {
    WD_ASSIGN(HttpAnswer answer, client_.Send(request));
    const std::string* location = answer.Header("location");
    if (answer.status >= 300 && answer.status < 400 && location) {
      WD_ASSIGN(const HttpUrl from, ParseHttpUrl(request.url));
      WD_ASSIGN(const HttpUrl to, ResolveRedirect(from, *location));
      if (to.path == from.path + "/") {
        answer.status = 404;
        return answer;
      }
    }
    return Follow(client_, std::move(request), std::move(answer));
  }

  Result<HttpAnswer> AskHead(const std::string& key) {
    HttpRequest request;
    request.method = "HEAD";
    request.url = base_ + key;
    request.headers = {{"Cache-Control", "no-cache"}};
    return Ask(std::move(request));
  }

  Error Explain(const HttpAnswer& answer, const std::string& key) const {
    const long status = answer.status;
    if (status == 404 || status == 410) return Error{ErrorKind::kNotFound, "no object '" + base_ + key + "'"};
    ErrorKind kind = ErrorKind::kRefused;
    if (status == 401 || status == 403) kind = ErrorKind::kDenied;
    if (status == 408 || status == 425 || status == 429 || (status >= 500 && status != 501))
      kind = ErrorKind::kTransient;
    Error error{kind, "'" + base_ + key + "': the server answered " + std::to_string(status)};
    error.retry_after = AskedPause(answer);
    return error;
  }

  const std::string url_;
  const std::string base_;  // with a slash at its end
  HttpClient client_;
};

}  // namespace

Result<std::unique_ptr<Remote>> OpenMirrorRemote(const std::string& url, const TransferOptions& options,
                                                 const Context& context) {
  WD_ASSIGN(const HttpUrl parts, ParseHttpUrl(url));
  if (url.find_first_of("?#") != std::string::npos)
    return Error{ErrorKind::kUsage, "'" + UrlForPeople(url) + "': a mirror's URL has no query and no fragment"};
  std::string shown = parts.Origin() + parts.path;
  while (shown.ends_with('/')) shown.pop_back();
  const std::string base = shown + "/";
  return std::unique_ptr<Remote>(std::make_unique<MirrorRemote>(std::move(shown), base, options, context));
}

}  // namespace wdelta
