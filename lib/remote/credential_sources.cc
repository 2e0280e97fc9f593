#include "remote/credential_sources.h"

#include <algorithm>

#include "core/file.h"
#include "core/json.h"
#include "core/stopwatch.h"
#include "core/text.h"
#include "remote/credential_process.h"
#include "remote/http_text.h"
#include "remote/s3_xml.h"

namespace wdelta {
namespace {

constexpr uint64_t kMaxAnswer = 64 << 10;
constexpr uint64_t kMaxTokenFile = 64 << 10;
constexpr double kProcessSeconds = 60, kServiceSeconds = 10, kInstanceSeconds = 1;

Error Denied(std::string message, std::string hint = {}) {
  return Error{ErrorKind::kDenied, std::move(message), std::move(hint)};
}

// What may stand in a header: anything printable without a space.
bool IsPlain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 127; });
}

Result<Credentials> Checked(Credentials credentials) {
  if (credentials.access_key.empty() || credentials.secret_key.empty())
    return Denied("the access key or its secret is missing");
  if (!IsPlain(credentials.access_key) || !IsPlain(credentials.secret_key) || !IsPlain(credentials.session_token))
    return Denied("there are blanks or control characters in the credentials");
  return credentials;
}

// The same with the place that they came from: in an error, too. Whatever is wrong there, it is about credentials.
FoundCredentials From(const std::string& source, Result<Credentials> credentials) {
  if (credentials.ok()) {
    credentials->source = source;
    return std::optional(std::move(*credentials));
  }
  Error error = credentials.error();
  if (error.kind != ErrorKind::kTransient && error.kind != ErrorKind::kInterrupted) error.kind = ErrorKind::kDenied;
  error.message = "credentials from " + source + ": " + error.message;
  return error;
}

// "2030-01-01T00:00:00Z", or with +00:00; some tools leave the zone away.
std::optional<int64_t> ParseExpiry(std::string text) {
  if (text.ends_with("+00:00")) text.resize(text.size() - 6);
  if (!text.ends_with('Z')) text += 'Z';
  return ParseIsoDate(text);
}

// A token of one line in a file.
Result<std::string> ReadToken(const std::string& path) {
  WD_ASSIGN(const Bytes bytes, ReadWholeFile(path, kMaxTokenFile));
  std::string token(AsText(bytes));
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r' || token.back() == ' ')) token.pop_back();
  if (token.empty() || !std::all_of(token.begin(), token.end(), [](char c) { return c >= ' ' && c < 127; }))
    return Denied("'" + path + "' does not hold a token");
  return token;
}

// The body of an answer of 200; what a service says besides is not shown, it may echo what we sent.
Result<Bytes> BodyOf(Result<HttpAnswer> answer) {
  if (!answer.ok()) return answer.TakeError();
  if (answer->status == 200) return std::move(answer->body);
  const bool passing = answer->status >= 500 || answer->status == 429 || answer->status == 408;
  return Error{passing ? ErrorKind::kTransient : ErrorKind::kDenied,
               "the service answered with status " + std::to_string(answer->status)};
}

Result<Credentials> AskProcess(const std::string& command, const Environment& environment, const StopToken& stop) {
  const auto words = SplitCommand(command);
  if (!words) return Denied("the command of credential_process has a quote without an end, or no word");
  WD_ASSIGN(const Bytes output, RunForOutput(*words, kMaxAnswer, kProcessSeconds, environment, stop));
  return ParseCredentialsJson(output, "SessionToken");
}

std::string StsEndpoint(const AwsProfile& profile, const Environment& environment) {
  std::string endpoint = environment.Get("AWS_ENDPOINT_URL_STS");
  if (!endpoint.empty()) return endpoint;
  std::string region = environment.Get("AWS_REGION");
  if (region.empty()) region = environment.Get("AWS_DEFAULT_REGION");
  if (region.empty()) region = profile.Value("region");
  if (region.empty() || region == "auto") region = "us-east-1";
  return "https://sts." + PercentEncode(region, false) + ".amazonaws.com" + (region.starts_with("cn-") ? ".cn" : "");
}

Result<Credentials> AssumeRole(const std::string& endpoint, const std::string& role, const std::string& session,
                               const std::string& token_path, const CredentialChain::Send& send) {
  if (role.empty()) return Denied("AWS_WEB_IDENTITY_TOKEN_FILE is set, but AWS_ROLE_ARN is not");
  WD_TRY(ParseHttpUrl(endpoint));
  WD_ASSIGN(const std::string token, ReadToken(token_path));
  const std::string form = "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=" + PercentEncode(role, false) +
                           "&RoleSessionName=" + PercentEncode(session.empty() ? "wdelta" : session, false) +
                           "&WebIdentityToken=" + PercentEncode(token, false);
  const MemorySource body(AsBytes(form));
  auto answer = send({.method = "POST",
                      .url = endpoint.ends_with('/') ? endpoint : endpoint + "/",
                      .headers = {{"Content-Type", "application/x-www-form-urlencoded"}},
                      .body = &body,
                      .max_answer = kMaxAnswer,
                      .timeout = kServiceSeconds});
  if (answer.ok() && answer->status >= 400 && answer->status < 500) {  // the code tells what is wrong with the role
    if (const auto elements = ReadXml(answer->body); elements.ok()) {
      for (const XmlElement& element : *elements)
        if (element.path == "ErrorResponse/Error/Code")
          return Denied("refused by the security token service: " + TerminalText(Shorten(element.text, 60)));
    }
  }
  WD_ASSIGN(const Bytes document, BodyOf(std::move(answer)));
  const std::string at = "AssumeRoleWithWebIdentityResponse/AssumeRoleWithWebIdentityResult/Credentials/";
  Credentials credentials;
  WD_ASSIGN(credentials.access_key, ReadS3Text(document, at + "AccessKeyId"));
  WD_ASSIGN(credentials.secret_key, ReadS3Text(document, at + "SecretAccessKey"));
  WD_ASSIGN(credentials.session_token, ReadS3Text(document, at + "SessionToken"));
  WD_ASSIGN(const std::string expiration, ReadS3Text(document, at + "Expiration"));
  const auto expires = ParseExpiry(expiration);
  if (!expires) return Denied("the answer has no date of expiry");
  credentials.expires = *expires;
  return Checked(std::move(credentials));
}

Result<Credentials> AskContainer(const std::string& url, const CredentialChain::Send& send,
                                 const Environment& environment) {
  HttpRequest request{.url = url, .max_answer = kMaxAnswer, .timeout = kServiceSeconds};
  std::string token = environment.Get("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  if (const std::string path = environment.Get("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"); !path.empty()) {
    WD_ASSIGN(token, ReadToken(path));
  }
  if (token.find_first_of("\r\n") != std::string::npos) return Denied("the authorization token has a line break");
  if (!token.empty()) request.headers = {{"Authorization", token}};
  WD_ASSIGN(const Bytes body, BodyOf(send(request)));
  return ParseCredentialsJson(body, "Token");
}

}  // namespace

Result<Credentials> ParseCredentialsJson(ByteSpan text, std::string_view token) {
  const Error malformed = Denied("the answer is not the JSON object that it should be");
  if (!ValidUtf8(text)) return malformed;
  Credentials credentials;
  bool wrong_version = false, wrong_date = false;
  const auto read = [&]() -> Result<> {
    JsonReader json(AsText(text));
    WD_TRY(json.Object([&](std::string_view key) -> Result<> {
      const bool is_version = key == "Version" && token == "SessionToken", is_expiry = key == "Expiration";
      std::string other;
      std::string* place = &other;
      if (key == "AccessKeyId") place = &credentials.access_key;
      if (key == "SecretAccessKey") place = &credentials.secret_key;
      if (key == token) place = &credentials.session_token;
      WD_ASSIGN(const JsonReader::Type type, json.Peek());
      if (is_version) {
        WD_ASSIGN(const uint64_t version, json.UnsignedInteger());
        wrong_version = version != 1;
        return {};
      }
      if (type != JsonReader::Type::kString) return json.Skip();
      WD_TRY(json.Into(*place));
      if (!is_expiry) return {};
      const auto expires = ParseExpiry(other);
      wrong_date = !expires;
      credentials.expires = expires.value_or(0);
      return {};
    }));
    return json.End();
  };
  if (!read().ok()) return malformed;
  if (wrong_version) return Denied("the answer has another version than 1");
  if (wrong_date) return Denied("the answer has a date of expiry that is no date");
  return Checked(std::move(credentials));
}

FoundCredentials FromEnvironment(const Environment& environment) {
  Credentials credentials{.access_key = environment.Get("AWS_ACCESS_KEY_ID"),
                          .secret_key = environment.Get("AWS_SECRET_ACCESS_KEY"),
                          .session_token = environment.Get("AWS_SESSION_TOKEN")};
  if (credentials.access_key.empty() && credentials.secret_key.empty()) return std::optional<Credentials>();
  return From("the environment", Checked(std::move(credentials)));
}

FoundCredentials FromProfile(const AwsProfile& profile, const CredentialChain::Send& send,
                             const Environment& environment, const StopToken& stop) {
  const std::string name = "profile '" + profile.name + "'";
  const std::string hint =
      "use credential_process, for example with 'aws configure export-credentials --format process', or web identity";
  if (profile.chosen && !profile.found) {
    return Denied(name + " is neither in '" + profile.config_path + "' nor in '" + profile.credentials_path + "'",
                  "check AWS_PROFILE");
  }
  const auto has = [&](const char* key) { return !profile.Value(key).empty(); };
  if (has("role_arn")) {
    const std::string token_path = profile.Value("web_identity_token_file");
    if (token_path.empty()) return Denied(name + " takes a role from another profile, which wdelta does not do", hint);
    return From("web identity of " + name, AssumeRole(StsEndpoint(profile, environment), profile.Value("role_arn"),
                                                      profile.Value("role_session_name"), token_path, send));
  }
  if (has("aws_access_key_id") || has("aws_secret_access_key")) {
    return From(name + " in '" + profile.keys_path + "'",
                Checked({.access_key = profile.Value("aws_access_key_id"),
                         .secret_key = profile.Value("aws_secret_access_key"),
                         .session_token = profile.Value("aws_session_token")}));
  }
  if (has("credential_process"))
    return From("credential_process of " + name, AskProcess(profile.Value("credential_process"), environment, stop));
  if (has("sso_session") || has("sso_start_url"))
    return Denied(name + " signs in with SSO, which wdelta does not do", hint);
  return std::optional<Credentials>();
}

FoundCredentials FromWebIdentity(const AwsProfile& profile, const CredentialChain::Send& send,
                                 const Environment& environment) {
  const std::string token_path = environment.Get("AWS_WEB_IDENTITY_TOKEN_FILE");
  if (token_path.empty()) return std::optional<Credentials>();
  return From("web identity", AssumeRole(StsEndpoint(profile, environment), environment.Get("AWS_ROLE_ARN"),
                                         environment.Get("AWS_ROLE_SESSION_NAME"), token_path, send));
}

FoundCredentials FromContainer(const CredentialChain::Send& send, const Environment& environment) {
  std::string url = environment.Get("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  if (!url.empty()) {
    if (url[0] != '/') return Denied("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI does not begin with '/'");
    return From("the container service", AskContainer("http://169.254.170.2" + url, send, environment));
  }
  url = environment.Get("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  if (url.empty()) return std::optional<Credentials>();
  const auto parsed = ParseHttpUrl(url);
  if (!parsed.ok()) return Denied("AWS_CONTAINER_CREDENTIALS_FULL_URI is not an http or https URL");
  const bool near = IsLoopback(parsed->host) || parsed->host == "169.254.170.2" || parsed->host == "169.254.170.23" ||
                    parsed->host == "[fd00:ec2::23]";
  if (parsed->scheme != "https" && !near)
    return Denied("AWS_CONTAINER_CREDENTIALS_FULL_URI may use plain http only on this machine, not '" +
                  UrlForPeople(url) + "'");
  return From("the container service", AskContainer(url, send, environment));
}

FoundCredentials FromInstance(const CredentialChain::Send& send, const Environment& environment, std::string* why) {
  if (Lower(environment.Get("AWS_EC2_METADATA_DISABLED")) == "true") {
    *why = "disabled";
    return std::optional<Credentials>();
  }
  std::string base = environment.Get("AWS_EC2_METADATA_SERVICE_ENDPOINT");
  if (base.empty()) base = "http://169.254.169.254";
  while (base.ends_with('/')) base.pop_back();
  if (!ParseHttpUrl(base).ok()) return Denied("AWS_EC2_METADATA_SERVICE_ENDPOINT is not an http or https URL");

  const Stopwatch watch;
  const auto ask = [&](const char* method, const std::string& path, HttpHeaders headers) -> Result<Bytes> {
    const double left = kInstanceSeconds - watch.seconds();
    if (left < 0.001) return Error{ErrorKind::kTransient, "no answer within a second"};
    return BodyOf(send({.method = method,
                        .url = base + path,
                        .headers = std::move(headers),
                        .max_answer = kMaxAnswer,
                        .timeout = left}));
  };
  const auto find = [&]() -> Result<Credentials> {
    WD_ASSIGN(const Bytes token, ask("PUT", "/latest/api/token", {{"X-aws-ec2-metadata-token-ttl-seconds", "21600"}}));
    if (token.empty() || !IsPlain(AsText(token))) return Denied("the token is malformed");
    const HttpHeaders headers{{"X-aws-ec2-metadata-token", std::string(AsText(token))}};
    const std::string path = "/latest/meta-data/iam/security-credentials/";
    WD_ASSIGN(const Bytes roles, ask("GET", path, headers));
    const std::string_view first = AsText(roles).substr(0, AsText(roles).find('\n'));
    if (first.empty() || first.size() > 128 || !IsPlain(first)) return Denied("the instance has no role");
    WD_ASSIGN(const Bytes answer, ask("GET", path + PercentEncode(first, false), headers));
    return ParseCredentialsJson(answer, "Token");
  };
  auto found = find();
  if (found.ok()) return From("instance metadata", std::move(found));
  if (found.error().kind == ErrorKind::kInterrupted) return found.TakeError();
  *why = found.error().message;
  return std::optional<Credentials>();
}

}  // namespace wdelta
