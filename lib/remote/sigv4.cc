#include "remote/sigv4.h"

#include <algorithm>
#include <ctime>

#include "core/digest.h"
#include "core/text.h"
#include "remote/http_text.h"

namespace wdelta {

namespace {

std::string TimeStamp(int64_t time) {
  const std::time_t seconds = time;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", &parts)};
}

// Without white space at the ends, and with a single space wherever there is some inside.
std::string Trimmed(std::string_view value) {
  std::string trimmed;
  bool space = false;
  for (const char c : value) {
    if (c == ' ' || c == '\t') {
      space = !trimmed.empty();
      continue;
    }
    if (space) trimmed.push_back(' ');
    space = false;
    trimmed.push_back(c);
  }
  return trimmed;
}

}  // namespace

std::string CanonicalQuery(const TextPairs& query) {
  TextPairs encoded;
  for (const auto& [name, value] : query) encoded.emplace_back(PercentEncode(name, false), PercentEncode(value, false));
  std::sort(encoded.begin(), encoded.end());
  std::string text;
  for (const auto& [name, value] : encoded) {
    if (!text.empty()) text += '&';
    text += name + '=' + value;
  }
  return text;
}

TextPairs Sign(const SigningInput& input, const SigningKey& key) {
  const std::string stamp = TimeStamp(input.time);
  TextPairs added = {{"x-amz-content-sha256", input.payload_hash}, {"x-amz-date", stamp}};
  if (!key.session_token.empty()) added.emplace_back("x-amz-security-token", key.session_token);

  TextPairs headers = {{"host", input.host}};
  for (const TextPairs* from : {&input.headers, const_cast<const TextPairs*>(&added)}) {
    for (const auto& [name, value] : *from) headers.emplace_back(Lower(name), Trimmed(value));
  }
  std::sort(headers.begin(), headers.end());
  std::string names, lines;
  for (const auto& [name, value] : headers) {
    if (!names.empty()) names += ';';
    names += name;
    lines += name + ':' + value + '\n';
  }

  const std::string canonical = input.method + '\n' + input.path + '\n' + CanonicalQuery(input.query) + '\n' + lines +
                                '\n' + names + '\n' + input.payload_hash;
  const std::string day = stamp.substr(0, 8);
  const std::string scope = day + '/' + input.region + '/' + input.service + "/aws4_request";
  const std::string to_sign =
      "AWS4-HMAC-SHA256\n" + stamp + '\n' + scope + '\n' + Hex(DigestSha256(AsBytes(canonical)));

  const std::string secret = "AWS4" + key.secret_key;
  Sha256Digest signing = HmacSha256(AsBytes(secret), day);
  signing = HmacSha256(signing, input.region);
  signing = HmacSha256(signing, input.service);
  signing = HmacSha256(signing, "aws4_request");
  added.emplace_back("Authorization", "AWS4-HMAC-SHA256 Credential=" + key.access_key + '/' + scope +
                                          ",SignedHeaders=" + names +
                                          ",Signature=" + Hex(HmacSha256(signing, to_sign)));
  return added;
}

}  // namespace wdelta
