#include "remote/http_client.h"

#include <curl/curl.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <functional>
#include <mutex>

#include "core/stopwatch.h"
#include "core/text.h"
#include "remote/http_text.h"
#include "remote/throttle.h"

namespace wdelta {

namespace {

constexpr size_t kMaxHeaderBytes = 256 << 10;  // all headers of one answer
constexpr double kFinishSeconds = 3;           // after a stop, for the answer to what was sent

// One request on its way.
struct Transfer {
  const HttpRequest* request = nullptr;
  Throttle* throttle = nullptr;
  const StopToken* stop = nullptr;
  CURL* handle = nullptr;
  HttpAnswer answer{};
  std::unique_ptr<Error> error{};  // why a callback gave up
  std::exception_ptr thrown{};     // or what it threw
  uint64_t sent = 0, received = 0;
  size_t header_bytes = 0;
  bool head_ended = false;
  bool kept_all = false;  // a callback gave up because request->keep is complete
  std::optional<Stopwatch> since_stop{};

  // The server may be at it: all was sent of what changes something there.
  bool MayBeCarriedOut() const {
    return request->method != "GET" && request->method != "HEAD" && sent == request->body_bytes();
  }
  size_t Fail(Error why) {
    error = std::make_unique<Error>(std::move(why));
    return 0;
  }
};

// libcurl is C, and nothing may be thrown through it: that ends the transfer, and goes on afterwards.
template <size_t (*Handle)(Transfer&, char*, size_t), size_t kGiveUp>
size_t Callback(char* data, size_t unit, size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  try {
    return Handle(transfer, data, unit * count);
  } catch (...) {
    transfer.thrown = std::current_exception();
    return kGiveUp;
  }
}

size_t OnRead(Transfer& transfer, char* out, size_t room) {
  const HttpRequest& request = *transfer.request;
  const uint64_t length = std::min<uint64_t>(room, request.body_bytes() - transfer.sent);
  if (length == 0) return 0;
  transfer.throttle->Take(length);
  Result<> read = request.body->ReadAt(transfer.sent, MutableByteSpan(reinterpret_cast<uint8_t*>(out), length));
  if (!read.ok()) {
    transfer.error = read.TakeError();
    return CURL_READFUNC_ABORT;
  }
  transfer.sent += length;
  return length;
}

int OnSeek(void* user, curl_off_t offset, int origin) {
  auto& transfer = *static_cast<Transfer*>(user);
  if (origin != SEEK_SET || offset < 0 || static_cast<uint64_t>(offset) > transfer.request->body_bytes())
    return CURL_SEEKFUNC_FAIL;
  transfer.sent = static_cast<uint64_t>(offset);
  return CURL_SEEKFUNC_OK;
}

size_t OnWrite(Transfer& transfer, char* data, size_t length) {
  const HttpRequest& request = *transfer.request;
  Bytes& body = transfer.answer.body;
  transfer.throttle->Take(length);
  if (transfer.answer.status == 0) curl_easy_getinfo(transfer.handle, CURLINFO_RESPONSE_CODE, &transfer.answer.status);
  ByteSpan bytes(reinterpret_cast<const uint8_t*>(data), length);
  const uint64_t at = transfer.received;
  transfer.received += length;
  if (request.keep && transfer.answer.status == 200) {
    const uint64_t skip = at < request.keep->offset ? std::min<uint64_t>(length, request.keep->offset - at) : 0;
    bytes = bytes.subspan(skip);
    bytes = bytes.first(std::min<uint64_t>(bytes.size(), request.keep->length - body.size()));
    body.insert(body.end(), bytes.begin(), bytes.end());
    transfer.kept_all = body.size() == request.keep->length;
    return transfer.kept_all ? 0 : length;
  }
  if (length > request.max_answer - body.size())
    return transfer.Fail(
        Error{ErrorKind::kIntegrity, "answer longer than " + std::to_string(request.max_answer) + " bytes"});
  if (body.empty()) {
    curl_off_t announced = -1;
    curl_easy_getinfo(transfer.handle, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &announced);
    if (announced > 0) body.reserve(std::min(static_cast<uint64_t>(announced), request.max_answer));
  }
  body.insert(body.end(), bytes.begin(), bytes.end());
  return length;
}

size_t OnHeader(Transfer& transfer, char* data, size_t length) {
  transfer.header_bytes += length;
  if (transfer.header_bytes > kMaxHeaderBytes)
    return transfer.Fail(Error{ErrorKind::kIntegrity, "more than 256 KiB of headers in an answer"});
  std::string_view line(data, length);
  if (line.starts_with("HTTP/")) {  // the answer after a "100 Continue", or after that of a proxy
    transfer.answer.headers.clear();
    transfer.head_ended = false;
    return length;
  }
  if (line == "\r\n" || line == "\n") transfer.head_ended = true;
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return length;
  std::string name = Lower(line.substr(0, colon));
  line.remove_prefix(colon + 1);
  const size_t first = line.find_first_not_of(" \t\r\n");
  line = first == std::string_view::npos ? std::string_view() : line.substr(first);
  line = line.substr(0, line.find_last_not_of(" \t\r\n") + 1);
  transfer.answer.headers.emplace_back(std::move(name), line);
  return length;
}

int OnProgress(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  auto& transfer = *static_cast<Transfer*>(user);
  if (!transfer.stop->requested() || transfer.request->past_stop) return 0;
  if (!transfer.MayBeCarriedOut()) return 1;
  if (!transfer.since_stop) transfer.since_stop.emplace();
  return transfer.since_stop->seconds() > kFinishSeconds ? 1 : 0;
}

// A setting of libcurl that is refused would be one that does not protect: no request is sent without it.
class Settings {
 public:
  explicit Settings(CURL* handle) : handle_(handle) {}
  template <class T>
  Settings& Set(CURLoption option, T value) {
    if (ok_) ok_ = curl_easy_setopt(handle_, option, value) == CURLE_OK;
    return *this;
  }
  bool ok() const { return ok_; }

 private:
  CURL* handle_;
  bool ok_ = true;
};

struct SlistCloser {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using Slist = std::unique_ptr<curl_slist, SlistCloser>;

bool AppendHeader(Slist* list, const std::string& line) {
  curl_slist* longer = curl_slist_append(list->get(), line.c_str());
  if (!longer) return false;
  static_cast<void>(list->release());
  list->reset(longer);
  return true;
}

// A line break in a value would begin another header.
bool IsHeaderSafe(const std::string& text) {
  return std::none_of(text.begin(), text.end(), [](char c) { return c == '\r' || c == '\n' || c == '\0'; });
}

std::string CaFile(const TransferOptions& options, const Environment& environment) {
  if (!options.ca_file.empty()) return options.ca_file;
  for (const char* name : {"AWS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"}) {
    if (std::string value = environment.Get(name); !value.empty()) return value;
  }
  return {};
}

Error ErrorOf(CURLcode code, const HttpRequest& request, const char* details) {
  std::string reason = Shorten(TerminalText(*details ? details : curl_easy_strerror(code)));
  Error error{ErrorKind::kTransient, "no answer from '" + UrlForPeople(request.url) + "': " + reason};
  switch (code) {
    case CURLE_ABORTED_BY_CALLBACK:
      return Error{ErrorKind::kInterrupted, "interrupted"};
    case CURLE_URL_MALFORMAT:
      error.kind = ErrorKind::kUsage;
      break;
    case CURLE_OUT_OF_MEMORY:
      error.kind = ErrorKind::kLocalIo;
      break;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
      error.kind = ErrorKind::kDenied;
      error.hint = "If the server's certificate is signed by an authority of your own, name its file with --ca-file.";
      break;
    default:
      break;
  }
  return error;
}

}  // namespace

const std::string* HttpAnswer::Header(std::string_view name) const {
  for (const auto& [header, value] : headers) {
    if (header == name) return &value;
  }
  return nullptr;
}

// Handles that nobody uses at the moment; each keeps its connections open.
struct HttpClient::Pool {
  Pool(const TransferOptions& given, const Context& context)
      : options(given),
        stop(context.stop),
        ca_file(CaFile(given, context.environment)),
        throttle(given.bytes_per_second, context.stop) {}
  ~Pool() {
    for (CURL* handle : idle) curl_easy_cleanup(handle);
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  CURL* Borrow() {
    const std::lock_guard lock(mutex);
    if (idle.empty()) return curl_easy_init();
    CURL* handle = idle.back();
    idle.pop_back();
    return handle;
  }
  void GiveBack(CURL* handle) noexcept {
    curl_easy_reset(handle);
    try {
      const std::lock_guard lock(mutex);
      idle.push_back(handle);
    } catch (const std::exception&) {
      curl_easy_cleanup(handle);
    }
  }

  const TransferOptions options;
  const StopToken stop;
  const std::string ca_file;
  Throttle throttle;
  std::mutex mutex;
  std::vector<CURL*> idle;
};

HttpClient::HttpClient(const TransferOptions& options, const Context& context) {
  // Never undone: others in this process may use libcurl as well.
  static const bool ready = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  static_cast<void>(ready);
  pool_ = std::make_unique<Pool>(options, context);
}

HttpClient::~HttpClient() = default;

Result<HttpAnswer> HttpClient::Send(const HttpRequest& request) {
  if (!request.past_stop) WD_TRY(pool_->stop.Check());
  if (!request.url.starts_with("http://") && !request.url.starts_with("https://"))
    return Error{ErrorKind::kUsage, "'" + UrlForPeople(request.url) + "' is not an http or https URL"};
  CURL* handle = pool_->Borrow();
  if (!handle) return Error{ErrorKind::kLocalIo, "libcurl cannot start"};
  const std::unique_ptr<CURL, std::function<void(CURL*)>> owner(handle, [&](CURL* used) { pool_->GiveBack(used); });

  const TransferOptions& options = pool_->options;
  Transfer transfer{&request, &pool_->throttle, &pool_->stop, handle};
  char details[CURL_ERROR_SIZE] = "";
  const auto milliseconds = [](double seconds) { return static_cast<long>(std::ceil(std::min(seconds, 1e6) * 1000)); };

  Settings settings(handle);
  settings.Set(CURLOPT_NOSIGNAL, 1L)
      .Set(CURLOPT_ERRORBUFFER, details)
      .Set(CURLOPT_URL, request.url.c_str())
      .Set(CURLOPT_PROTOCOLS_STR, "http,https")
      .Set(CURLOPT_PATH_AS_IS, 1L)
      .Set(CURLOPT_FOLLOWLOCATION, 0L)
      .Set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1))
      .Set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L)
      .Set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2))
      .Set(CURLOPT_SSL_VERIFYPEER, 1L)
      .Set(CURLOPT_SSL_VERIFYHOST, 2L)
      .Set(CURLOPT_TCP_KEEPALIVE, 1L)
      .Set(CURLOPT_FRESH_CONNECT, request.once ? 1L : 0L)
      .Set(CURLOPT_CONNECTTIMEOUT_MS, milliseconds(options.connect_timeout))
      .Set(CURLOPT_LOW_SPEED_LIMIT, 1L)
      .Set(CURLOPT_LOW_SPEED_TIME, static_cast<long>(std::ceil(options.idle_timeout)))
      .Set(CURLOPT_TIMEOUT_MS, milliseconds(request.timeout > 0 ? request.timeout : options.timeout))
      .Set(CURLOPT_BUFFERSIZE, 256L << 10)
      .Set(CURLOPT_UPLOAD_BUFFERSIZE, 256L << 10)
      .Set(CURLOPT_USERAGENT, "wdelta")
      .Set(CURLOPT_WRITEFUNCTION, Callback<OnWrite, 0>)
      .Set(CURLOPT_WRITEDATA, &transfer)
      .Set(CURLOPT_HEADERFUNCTION, Callback<OnHeader, 0>)
      .Set(CURLOPT_HEADERDATA, &transfer)
      .Set(CURLOPT_NOPROGRESS, 0L)
      .Set(CURLOPT_XFERINFOFUNCTION, OnProgress)
      .Set(CURLOPT_XFERINFODATA, &transfer);
  if (!pool_->ca_file.empty()) settings.Set(CURLOPT_CAINFO, pool_->ca_file.c_str());

  Slist headers;
  bool listed = AppendHeader(&headers, "Accept-Encoding: identity");
  for (const auto& [name, value] : request.headers) {
    if (!IsHeaderSafe(name) || !IsHeaderSafe(value))
      return Error{ErrorKind::kUsage, "line break in the value of the header '" + TerminalText(name) + "'"};
    // libcurl leaves out a header without a value, unless it ends in a semicolon.
    listed = listed && AppendHeader(&headers, value.empty() ? name + ";" : name + ": " + value);
  }
  if (request.method == "HEAD") {
    settings.Set(CURLOPT_NOBODY, 1L);
  } else if (request.method == "PUT" || request.method == "POST") {
    settings.Set(CURLOPT_UPLOAD, 1L)
        .Set(CURLOPT_CUSTOMREQUEST, request.method.c_str())
        .Set(CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(request.body_bytes()))
        .Set(CURLOPT_READFUNCTION, Callback<OnRead, CURL_READFUNC_ABORT>)
        .Set(CURLOPT_READDATA, &transfer)
        .Set(CURLOPT_SEEKFUNCTION, OnSeek)
        .Set(CURLOPT_SEEKDATA, &transfer);
    // A small body is sent sooner than its welcome can be asked for.
    if (request.body_bytes() < (1 << 20)) listed = listed && AppendHeader(&headers, "Expect:");
  } else {
    settings.Set(CURLOPT_HTTPGET, 1L).Set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
  }
  settings.Set(CURLOPT_HTTPHEADER, headers.get());
  if (!settings.ok() || !listed) return Error{ErrorKind::kLocalIo, "libcurl does not take the settings of a request"};

  const CURLcode code = curl_easy_perform(handle);
  HttpAnswer& answer = transfer.answer;
  curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &answer.status);
  if (transfer.thrown) std::rethrow_exception(transfer.thrown);
  if (transfer.error) {
    if (transfer.error->kind == ErrorKind::kIntegrity)
      transfer.error->message = "'" + UrlForPeople(request.url) + "': " + transfer.error->message;
    return std::move(transfer.error);
  }
  if (code != CURLE_OK && !(code == CURLE_WRITE_ERROR && transfer.kept_all)) return ErrorOf(code, request, details);

  // libcurl is content with a connection that ends between two headers.
  if (!transfer.head_ended)
    return Error{ErrorKind::kTransient, "answer of '" + UrlForPeople(request.url) + "' ends within its headers"};
  const std::string* length = nullptr;
  for (const auto& [name, value] : answer.headers) {
    if (name == "content-encoding" && value != "identity") {
      if (answer.status < 300)
        return Error{ErrorKind::kIntegrity, "'" + UrlForPeople(request.url) + "' answers with the content encoding '" +
                                                Shorten(TerminalText(value), 40) + "', which nobody asked for"};
      answer.body.clear();
    }
    if (name != "content-length") continue;
    if (length && *length != value)
      return Error{ErrorKind::kTransient, "'" + UrlForPeople(request.url) + "' answers with two lengths"};
    length = &value;
  }
  return std::move(answer);
}

}  // namespace wdelta
