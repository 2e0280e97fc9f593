#include <algorithm>

#include "core/text.h"
#include "remote/ranged_answer.h"
#include "remote/remote_key.h"
#include "remote/s3_multipart.h"
#include "remote/s3_session.h"
#include "remote/s3_xml.h"
#include "remote/stores.h"

namespace wdelta {

namespace {

constexpr uint64_t kMaxListing = 8 << 20;  // a thousand keys of a thousand bytes, each encoded as three, and more

// The headers that ask the store to encrypt, from the environment.
Result<TextPairs> EncryptionHeaders(const Environment& environment) {
  const std::string kind = environment.Get("WDELTA_SSE"), key = environment.Get("WDELTA_SSE_KMS_KEY_ID");
  TextPairs headers;
  if (kind.empty()) return headers;
  if (kind != "AES256" && kind != "aws:kms")
    return Error{ErrorKind::kUsage, "WDELTA_SSE is '" + Shorten(TerminalText(kind), 40) + "', not AES256 or aws:kms"};
  headers.emplace_back("x-amz-server-side-encryption", kind);
  if (kind == "aws:kms" && !key.empty()) headers.emplace_back("x-amz-server-side-encryption-aws-kms-key-id", key);
  return headers;
}

std::string WithoutQuotes(const std::string& tag) {
  return tag.size() > 2 && tag.front() == '"' && tag.back() == '"' ? tag.substr(1, tag.size() - 2) : tag;
}

class S3Remote final : public Remote {
 public:
  S3Remote(S3Address address, const TransferOptions& options, const Context& context, TextPairs encryption)
      : session_(std::move(address), options, context), encryption_(std::move(encryption)) {}

  const std::string& url() const override { return session_.address().url; }
  std::vector<std::pair<std::string, std::string>> Describe() override { return session_.Describe(); }

  Result<ObjectPiece> Read(const std::string& key, uint64_t offset, uint64_t length, const std::string& etag) override {
    WD_TRY(CheckKey(key));
    length = std::min(length, UINT64_MAX - offset);
    const bool has_etags = !session_.address().hugging_face;
    if (length > 0) {
      S3Call call{.key = key, .headers = {{"Range", RangeHeader(offset, length)}}, .keep = ByteRange{offset, length}};
      if (!etag.empty() && has_etags) call.headers.emplace_back("If-Match", etag);
      call.max_answer = std::max(call.max_answer, length);
      WD_ASSIGN(HttpAnswer answer, session_.Send(call));
      if (answer.status == 412) return Changed(key);
      if (answer.status == 200 || answer.status == 206) {
        WD_ASSIGN(ObjectPiece piece, PieceOf(std::move(answer), offset, length, url() + "/" + key));
        if (!has_etags) piece.etag.clear();
        // A store may ignore the condition.
        if (!etag.empty() && !piece.etag.empty() && piece.etag != etag) return Changed(key);
        return piece;
      }
      if (answer.status != 416) return session_.Explain(answer, key);
    }
    // Nothing was asked for, or the object ends before: all that is left to tell is how long it is.
    WD_ASSIGN(const std::optional<Head> head, AskHead(key));
    if (!head) return Error{ErrorKind::kNotFound, "no object '" + url() + "/" + key + "'"};
    if (length > 0 && offset < head->info.size)
      return Error{ErrorKind::kTransient, "'" + url() + "/" + key + "': the store gives no bytes from " +
                                              std::to_string(offset) + " on, of " + std::to_string(head->info.size)};
    return ObjectPiece{{}, head->info.size, has_etags ? head->etag : ""};
  }

  Result<WriteResult> Write(const std::string& key, const ByteSource& source, WriteRule rule,
                            const std::string& etag) override {
    WD_TRY(CheckKey(key));
    WD_TRY(CheckEtagIsNamed(rule, etag));
    if (rule == WriteRule::kIfEtag) return ReplaceIfEtag(key, source, etag);
    const bool if_absent = rule == WriteRule::kIfAbsent;
    if (source.size() > kMultipartFrom) {
      if (if_absent) {
        WD_ASSIGN(const std::optional<Head> head, AskHead(key));
        if (head) return WriteResult::kExists;
      }
      WD_ASSIGN(const bool written, WriteInParts(session_, key, source, encryption_, if_absent));
      return written ? WriteResult::kWritten : WriteResult::kExists;
    }
    WD_ASSIGN(const HttpAnswer answer, Put(key, source, if_absent ? TextPairs{{"If-None-Match", "*"}} : TextPairs{}));
    if (answer.status == 200) return WriteResult::kWritten;
    if (answer.status == 412 && if_absent) return WriteResult::kExists;
    return session_.Explain(answer, key);
  }

  Result<std::optional<ObjectInfo>> Stat(const std::string& key) override {
    WD_TRY(CheckKey(key));
    WD_ASSIGN(const std::optional<Head> head, AskHead(key));
    return head ? std::optional(head->info) : std::nullopt;
  }

  Result<ObjectPage> List(const std::string& prefix, const std::string& after, unsigned limit) override {
    WD_TRY(CheckKeyPrefix(prefix));
    if (limit < 1 || limit > 1000) return Error{ErrorKind::kUsage, "a page of a listing has 1 to 1000 objects"};
    const std::string& root = session_.address().prefix;
    TextPairs query = {
        {"list-type", "2"}, {"encoding-type", "url"}, {"prefix", root + prefix}, {"max-keys", std::to_string(limit)}};
    if (!after.empty()) query.emplace_back("start-after", root + after);
    WD_ASSIGN(const HttpAnswer answer, session_.Send({.query = query, .max_answer = kMaxListing}));
    if (answer.status != 200) return session_.Explain(answer, std::nullopt);
    Result<S3Listing> parsed = ReadS3Listing(answer.body);
    // Cut, damaged, or from something in between: the next answer may be the store's.
    if (!parsed.ok()) return Error{ErrorKind::kTransient, parsed.error().message};
    ObjectPage page;
    page.more = parsed->more;
    const std::string* date = answer.Header("date");
    page.now = date ? ParseHttpDate(*date).value_or(0) : 0;
    for (ObjectInfo& object : parsed->objects) {
      if (!object.key.starts_with(root + prefix))
        return Error{ErrorKind::kIntegrity, "the listing of '" + url() + "' has a key outside of what was asked for"};
      object.key.erase(0, root.size());
      const std::string& last = page.objects.empty() ? after : page.objects.back().key;
      if (object.key <= last && !(page.objects.empty() && after.empty()))
        return Error{ErrorKind::kIntegrity, "the listing of '" + url() + "' is not in order"};
      page.objects.push_back(std::move(object));
    }
    if (page.more && page.objects.empty())
      return Error{ErrorKind::kIntegrity, "the listing of '" + url() + "' says that there is more, and gives nothing"};
    return page;
  }

  Result<> Remove(const std::string& key) override {
    WD_TRY(CheckKey(key));
    const bool tidies_up = session_.stop().requested();
    WD_ASSIGN(const HttpAnswer answer, session_.Send({.method = "DELETE", .key = key, .past_stop = tidies_up}));
    if (answer.status == 200 || answer.status == 204) return {};
    Error error = session_.Explain(answer, key);
    const std::optional<S3Error> details = ReadS3Error(answer.body);
    if (error.kind == ErrorKind::kNotFound && details && details->code == "NoSuchKey") return {};
    return error;
  }

 private:
  struct Head {
    ObjectInfo info;
    std::string etag;
  };

  Error Changed(const std::string& key) const {
    return Error{ErrorKind::kConflict, "object '" + url() + "/" + key + "' changed while it was read"};
  }

  // Every store tells the etag of an object. An answer without one comes from something in between.
  Error NotFromStore(const std::string& key) const {
    return Error{ErrorKind::kTransient, "an answer about '" + url() + "/" + key + "' is not from a store"};
  }

  Result<HttpAnswer> Put(const std::string& key, const ByteSource& source, const TextPairs& condition) {
    S3Call call{.method = "PUT", .key = key, .headers = encryption_, .body = &source, .once = !condition.empty()};
    call.headers.insert(call.headers.end(), condition.begin(), condition.end());
    WD_ASSIGN(HttpAnswer answer, session_.Send(call));
    if (answer.status == 200 && !answer.Header("etag")) return NotFromStore(key);
    return answer;
  }

  Result<WriteResult> ReplaceIfEtag(const std::string& key, const ByteSource& source, const std::string& etag) {
    if (session_.address().hugging_face)
      return Error{ErrorKind::kRefused,
                   "'" + url() + "/" + key + "' cannot be replaced on condition: Hugging Face names no versions"};
    if (source.size() > kMultipartFrom)
      return Error{ErrorKind::kRefused, "'" + url() + "/" + key + "' cannot be replaced on condition by " +
                                            std::to_string(source.size()) + " bytes: more than " +
                                            std::to_string(kMultipartFrom) + " are sent in parts"};
    WD_ASSIGN(HttpAnswer answer, Put(key, source, {{"If-Match", etag}}));
    if (answer.status == 412) {
      // By the standard a tag goes with its quotes. Some stores, Ceph's gateway for years and what is built on it, name
      // it with quotes, compare it without, and never find it the same. So if it is, they are asked in their own way.
      WD_ASSIGN(const std::optional<Head> head, AskHead(key));
      if (!head || head->etag != etag) return WriteResult::kChanged;
      WD_ASSIGN(answer, Put(key, source, {{"If-Match", WithoutQuotes(etag)}}));
    }
    if (answer.status == 200) return WriteResult::kWritten;
    if (answer.status == 412) return WriteResult::kChanged;
    const std::optional<S3Error> details = ReadS3Error(answer.body);
    if (answer.status == 404 && details && details->code == "NoSuchKey") return WriteResult::kChanged;
    return session_.Explain(answer, key);
  }

  Result<std::optional<Head>> AskHead(const std::string& key) {
    WD_ASSIGN(const HttpAnswer answer, session_.Send({.method = "HEAD", .key = key}));
    if (answer.status == 404) return std::optional<Head>();
    if (answer.status != 200) return session_.Explain(answer, key);
    WD_ASSIGN(ObjectInfo info, InfoOf(answer, url() + "/" + key));
    info.key = key;
    const std::string* etag = answer.Header("etag");
    if (!etag) return NotFromStore(key);
    return std::optional(Head{std::move(info), *etag});
  }

  S3Session session_;
  const TextPairs encryption_;
};

}  // namespace

Result<std::unique_ptr<Remote>> OpenS3Remote(const std::string& url, const TransferOptions& options,
                                             const Context& context) {
  const AwsSettings settings = ReadAwsSettings(context.environment);
  TransferOptions used = options;
  if (used.ca_file.empty()) used.ca_file = settings.ca_bundle;
  S3Place place;
  place.endpoint = options.endpoint;
  place.region = options.region.empty() ? settings.region : options.region;
  if (url.starts_with("hf://")) {
    if (place.endpoint.empty()) place.endpoint = context.environment.Get("WDELTA_HF_S3_ENDPOINT");
  } else if (place.endpoint.empty()) {
    place.endpoint = settings.endpoint;
  }
  if (options.path_style || settings.path_style) place.bucket = BucketPlace::kPath;
  const std::string addressing = context.environment.Get("WDELTA_S3_ADDRESSING");
  if (!addressing.empty() && !options.path_style) {
    if (addressing != "path" && addressing != "virtual")
      return Error{ErrorKind::kUsage,
                   "WDELTA_S3_ADDRESSING is '" + Shorten(TerminalText(addressing), 40) + "', not path or virtual"};
    place.bucket = addressing == "path" ? BucketPlace::kPath : BucketPlace::kHost;
  }
  WD_ASSIGN(S3Address address, ParseS3Address(url, place));
  WD_ASSIGN(TextPairs encryption, EncryptionHeaders(context.environment));
  return std::unique_ptr<Remote>(std::make_unique<S3Remote>(std::move(address), used, context, std::move(encryption)));
}

}  // namespace wdelta
