// An S3 store that answers as a test says, and a remote that talks to it with keys that are easy to find again.
#pragma once

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>

#include "remote/stores.h"
#include "support/expect.h"
#include "support/scripted_server.h"

namespace wdelta {

// A variable of the environment for as long as this lives.
class Setting {
 public:
  Setting(const char* name, const std::string& value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    setenv(name, value.c_str(), 1);
  }
  ~Setting() {
    if (old_) {
      setenv(name_, old_->c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

 private:
  const char* name_;
  std::optional<std::string> old_;
};

struct Keys {
  Setting access{"AWS_ACCESS_KEY_ID", "AKCANARY"}, secret{"AWS_SECRET_ACCESS_KEY", "secret-canary"};
  Setting token{"AWS_SESSION_TOKEN", "token-canary"};
};

inline std::unique_ptr<Remote> Open(const std::string& url, const TransferOptions& options,
                                    const Context& context = {}) {
  auto remote = OpenS3Remote(url, options, context);
  REQUIRE_OK(remote);
  return std::move(*remote);
}

inline std::unique_ptr<Remote> OpenAt(const ScriptedServer& server, const Context& context = {}) {
  TransferOptions options;
  options.endpoint = server.url();
  return Open("s3://bucket/run7", options, context);
}

inline std::string ErrorXml(const std::string& code, const std::string& more = "") {
  return "<?xml version=\"1.0\"?><Error><Code>" + code + "</Code><Message>because &amp; \x1b[31m</Message>" + more +
         "</Error>";
}

inline std::string Piece(const std::string& range, const std::string& body) {
  return HttpText(206, "ETag: \"v1\"\r\nContent-Range: bytes " + range + "\r\n", body);
}

// What a remote says when every request is answered like this.
template <class Do>
auto Asked(const std::string& answer, Do&& work) {
  const Keys keys;
  const ScriptedServer server([&](const SeenRequest&) { return answer; });
  const auto remote = OpenAt(server);
  return work(*remote);
}

inline Result<ObjectPiece> ReadFrom(const std::string& answer, uint64_t offset = 2, uint64_t length = 4,
                                    const std::string& etag = {}) {
  return Asked(answer, [&](Remote& remote) { return remote.Read("a/b", offset, length, etag); });
}

inline const MemorySource& Hello() {
  static const MemorySource source(AsBytes("hello"));
  return source;
}

}  // namespace wdelta
