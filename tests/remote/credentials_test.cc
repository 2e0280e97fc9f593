#include "remote/credentials.h"

#include "support/clean_environment.h"
#include "support/expect.h"
#include "support/scripted_server.h"

namespace wdelta {
namespace {

// 2033-05-18T03:33:20Z
constexpr int64_t kExpiry = 2000000000;

CredentialChain::Send Unreachable() {
  return [](const HttpRequest&) -> Result<HttpAnswer> { return Error{ErrorKind::kTransient, "no connection"}; };
}

CredentialChain::Send Real() {
  const auto client = std::make_shared<HttpClient>(TransferOptions{}, Context{});
  return [client](const HttpRequest& request) { return client->Send(request); };
}

Result<Credentials> Find(const CleanEnvironment& environment, const CredentialChain::Send& send = Unreachable()) {
  return CredentialChain(send, {.environment = environment.value()}).Get();
}

std::string Json(const std::string& token_name, const std::string& more = "") {
  return "{\"AccessKeyId\":\"AK\",\"SecretAccessKey\":\"SK/+=\",\"" + token_name +
         "\":\"TOKEN\",\"Expiration\":\"2033-05-18T03:33:20Z\"" + more + "}";
}

void CheckTemporary(const Result<Credentials>& found, const std::string& source) {
  REQUIRE_OK(found);
  CHECK(found->access_key == "AK");
  CHECK(found->secret_key == "SK/+=");
  CHECK(found->session_token == "TOKEN");
  CHECK(found->expires == kExpiry);
  CHECK(found->source == source);
  CHECK_FALSE(found->anonymous);
}

TEST_CASE("credentials in the environment come first") {
  CleanEnvironment environment;
  environment.home().Write(".aws/credentials", "[default]\naws_access_key_id=X\naws_secret_access_key=Y\n");
  environment.Set("AWS_ACCESS_KEY_ID", "AK");
  environment.Set("AWS_SECRET_ACCESS_KEY", "SK");
  auto found = Find(environment);
  REQUIRE_OK(found);
  CHECK(found->access_key == "AK");
  CHECK(found->secret_key == "SK");
  CHECK(found->session_token.empty());
  CHECK(found->expires == 0);
  CHECK(found->source == "the environment");
  environment.Set("AWS_SESSION_TOKEN", "T");
  CHECK(Find(environment)->session_token == "T");
  environment.Set("WDELTA_S3_ANONYMOUS", "1");
  found = Find(environment);
  REQUIRE_OK(found);
  CHECK(found->anonymous);
  CHECK(found->access_key.empty());
}

TEST_CASE("half of a pair of keys, or one with a line break, is an error that shows neither") {
  CleanEnvironment environment;
  environment.Set("AWS_SECRET_ACCESS_KEY", "hidden");
  CHECK_FAILS(Find(environment), ErrorKind::kDenied, "from the environment: the access key or its secret is missing");
  environment.Set("AWS_ACCESS_KEY_ID", "hidden\r\nX: y");
  CHECK_FAILS(Find(environment), ErrorKind::kDenied, "control characters");
  CHECK(Find(environment).error().message.find("hidden") == std::string::npos);
}

TEST_CASE("keys of the selected profile are used, and a profile that is nowhere is an error") {
  CleanEnvironment environment;
  environment.home().Write(".aws/credentials", "[x]\naws_access_key_id=AK\naws_secret_access_key=SK\n");
  environment.Set("AWS_PROFILE", "x");
  const auto found = Find(environment);
  REQUIRE_OK(found);
  CHECK(found->secret_key == "SK");
  CHECK(found->source == "profile 'x' in '" + (environment.home() / ".aws/credentials") + "'");
  environment.Set("AWS_PROFILE", "z");
  CHECK_FAILS(Find(environment), ErrorKind::kDenied, "profile 'z' is neither in");
}

TEST_CASE("a credential process is run and its JSON read") {
  CleanEnvironment environment;
  environment.home().Write("tool.sh", "echo '" + Json("SessionToken", ",\"Version\":1") + "'");
  environment.home().Write(
      ".aws/config", "[default]\ncredential_process = sh \"" + (environment.home() / "tool.sh") + "\" 'an argument'\n");
  CheckTemporary(Find(environment), "credential_process of profile 'default'");
  environment.home().Write("tool.sh", "echo '" + Json("SessionToken", ",\"Version\":2") + "'");
  CHECK_FAILS(Find(environment), ErrorKind::kDenied, "another version");
  environment.home().Write("tool.sh", "echo '{\"AccessKeyId\":\"hidden\", oh'");
  CHECK_FAILS(Find(environment), ErrorKind::kDenied, "not the JSON object");
  CHECK(Find(environment).error().message.find("hidden") == std::string::npos);
  environment.home().Write("tool.sh", "exit 7");
  CHECK_FAILS(Find(environment), ErrorKind::kDenied, "failed with status 7");
  environment.home().Write(".aws/config", "[default]\ncredential_process = 'sh\n");
  CHECK_FAILS(Find(environment), ErrorKind::kDenied, "a quote without an end");
}

TEST_CASE("roles from other profiles and single sign-on are refused with the way out") {
  CleanEnvironment environment;
  for (const char* text : {"role_arn = r\nsource_profile = x\n", "role_arn = r\ncredential_source = Environment\n",
                           "sso_session = s\n", "sso_start_url = https://s\n"}) {
    environment.home().Write(".aws/config", std::string("[default]\n") + text);
    const auto found = Find(environment);
    REQUIRE_FALSE(found.ok());
    CHECK(found.error().kind == ErrorKind::kDenied);
    CHECK(found.error().hint.find("credential_process") != std::string::npos);
  }
}

TEST_CASE("a web identity is exchanged for credentials without a signature") {
  CleanEnvironment environment;
  const ScriptedServer server([](const SeenRequest&) {
    return HttpText(200, "",
                    "<AssumeRoleWithWebIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\">"
                    "<AssumeRoleWithWebIdentityResult><Credentials><SessionToken>TOKEN</SessionToken>"
                    "<SecretAccessKey>SK/+=</SecretAccessKey><Expiration>2033-05-18T03:33:20Z</Expiration>"
                    "<AccessKeyId>AK</AccessKeyId></Credentials></AssumeRoleWithWebIdentityResult>"
                    "</AssumeRoleWithWebIdentityResponse>");
  });
  environment.home().Write("token", "my.web+token\n");
  environment.Set("AWS_WEB_IDENTITY_TOKEN_FILE", environment.home() / "token");
  environment.Set("AWS_ENDPOINT_URL_STS", server.url());
  CHECK_FAILS(Find(environment, Real()), ErrorKind::kDenied, "AWS_ROLE_ARN");
  environment.Set("AWS_ROLE_ARN", "arn:aws:iam::1:role/r");
  environment.Set("AWS_ROLE_SESSION_NAME", "me");
  CheckTemporary(Find(environment, Real()), "web identity");
  REQUIRE(server.seen().size() == 1);
  const SeenRequest request = server.seen()[0];
  CHECK(request.line == "POST / HTTP/1.1");
  CHECK(request.Header("authorization") == "(none)");
  CHECK(request.Header("content-type") == "application/x-www-form-urlencoded");
  CHECK(request.body ==
        "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fr&"
        "RoleSessionName=me&WebIdentityToken=my.web%2Btoken");

  // The same from a profile.
  environment.Unset("AWS_WEB_IDENTITY_TOKEN_FILE");
  environment.home().Write(
      ".aws/config", "[default]\nrole_arn = r\nweb_identity_token_file = " + (environment.home() / "token") + "\n");
  CheckTemporary(Find(environment, Real()), "web identity of profile 'default'");
}

TEST_CASE("a service that refuses is told from one that is away") {
  CleanEnvironment environment;
  int status = 403;
  const ScriptedServer server([&](const SeenRequest&) {
    return HttpText(status, "",
                    "<ErrorResponse><Error><Code>ExpiredToken</Code><Message>hidden</Message></Error></ErrorResponse>");
  });
  environment.home().Write("token", "hidden");
  environment.Set("AWS_WEB_IDENTITY_TOKEN_FILE", environment.home() / "token");
  environment.Set("AWS_ENDPOINT_URL_STS", server.url());
  environment.Set("AWS_ROLE_ARN", "r");
  CHECK_FAILS(Find(environment, Real()), ErrorKind::kDenied, "refused by the security token service: ExpiredToken");
  CHECK(Find(environment, Real()).error().message.find("hidden") == std::string::npos);
  status = 503;
  CHECK_FAILS(Find(environment, Real()), ErrorKind::kTransient, "status 503");
  CHECK_FAILS(Find(environment, Unreachable()), ErrorKind::kTransient, "no connection");
  environment.Set("AWS_WEB_IDENTITY_TOKEN_FILE", environment.home() / "none");
  CHECK_FAILS(Find(environment, Real()), ErrorKind::kDenied, "No such file");
}

TEST_CASE("the security token service is that of the region") {
  CleanEnvironment environment;
  environment.home().Write("token", "t");
  environment.Set("AWS_WEB_IDENTITY_TOKEN_FILE", environment.home() / "token");
  environment.Set("AWS_ROLE_ARN", "r");
  std::string url;
  const auto send = [&](const HttpRequest& request) -> Result<HttpAnswer> {
    url = request.url;
    return HttpAnswer{.status = 500};
  };
  CHECK_FAILS(Find(environment, send), ErrorKind::kTransient, "500");
  CHECK(url == "https://sts.us-east-1.amazonaws.com/");
  environment.Set("AWS_REGION", "cn-north-1");
  CHECK_FAILS(Find(environment, send), ErrorKind::kTransient, "500");
  CHECK(url == "https://sts.cn-north-1.amazonaws.com.cn/");
}

TEST_CASE("a container's service is asked with its token, over plain http only nearby") {
  CleanEnvironment environment;
  const ScriptedServer server([](const SeenRequest&) { return HttpText(200, "", Json("Token")); });
  environment.Set("AWS_CONTAINER_CREDENTIALS_FULL_URI", server.url() + "/creds?a=b");
  CheckTemporary(Find(environment, Real()), "the container service");
  environment.Set("AWS_CONTAINER_AUTHORIZATION_TOKEN", "Bearer one");
  CheckTemporary(Find(environment, Real()), "the container service");
  environment.home().Write("token", "Bearer two\n");
  environment.Set("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", environment.home() / "token");
  CheckTemporary(Find(environment, Real()), "the container service");
  const auto seen = server.seen();
  REQUIRE(seen.size() == 3);
  CHECK(seen[0].line == "GET /creds?a=b HTTP/1.1");
  CHECK(seen[0].Header("authorization") == "(none)");
  CHECK(seen[1].Header("authorization") == "Bearer one");
  CHECK(seen[2].Header("authorization") == "Bearer two");

  std::string url;
  const auto send = [&](const HttpRequest& request) -> Result<HttpAnswer> {
    url = request.url;
    HttpAnswer answer{.status = 200};
    const std::string body = Json("Token");
    answer.body.assign(body.begin(), body.end());
    return answer;
  };
  for (const char* far : {"http://example.org/x", "http://169.254.169.254/x", "http://127.0.0.1.example.org/"}) {
    environment.Set("AWS_CONTAINER_CREDENTIALS_FULL_URI", far);
    CHECK_FAILS(Find(environment, send), ErrorKind::kDenied, "plain http");
  }
  environment.Set("AWS_CONTAINER_CREDENTIALS_FULL_URI", "file:///etc/passwd");
  CHECK_FAILS(Find(environment, send), ErrorKind::kDenied, "not an http or https URL");
  CHECK(url.empty());
  for (const char* near : {"https://example.org/x", "http://169.254.170.23/v1", "http://[fd00:ec2::23]/v1"}) {
    environment.Set("AWS_CONTAINER_CREDENTIALS_FULL_URI", near);
    CheckTemporary(Find(environment, send), "the container service");
    CHECK(url == near);
  }
  environment.Set("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/credentials/1");
  CheckTemporary(Find(environment, send), "the container service");
  CHECK(url == "http://169.254.170.2/v2/credentials/1");
  environment.Set("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "@example.org/");
  CHECK_FAILS(Find(environment, send), ErrorKind::kDenied, "does not begin with '/'");
}

TEST_CASE("instance metadata are asked last, with a token") {
  CleanEnvironment environment;
  const ScriptedServer server([](const SeenRequest& request) {
    if (request.line.starts_with("PUT /latest/api/token ")) return HttpText(200, "", "imds-token");
    if (request.line.starts_with("GET /latest/meta-data/iam/security-credentials/ "))
      return HttpText(200, "", "a-role\n");
    if (request.line.starts_with("GET /latest/meta-data/iam/security-credentials/a-role "))
      return HttpText(200, "", Json("Token", ",\"Code\":\"Success\",\"Type\":\"AWS-HMAC\""));
    return HttpText(404, "", "");
  });
  environment.Set("AWS_EC2_METADATA_DISABLED", "false");
  environment.Set("AWS_EC2_METADATA_SERVICE_ENDPOINT", server.url() + "/");
  CheckTemporary(Find(environment, Real()), "instance metadata");
  const auto seen = server.seen();
  REQUIRE(seen.size() == 3);
  CHECK(seen[0].Header("x-aws-ec2-metadata-token-ttl-seconds") == "21600");
  CHECK(seen[1].Header("x-aws-ec2-metadata-token") == "imds-token");
  CHECK(seen[2].Header("x-aws-ec2-metadata-token") == "imds-token");
}

TEST_CASE("instance metadata get a second altogether, and none when they are disabled") {
  CleanEnvironment environment;
  unsigned requests = 0;
  const auto send = [&](const HttpRequest& request) -> Result<HttpAnswer> {
    ++requests;
    CHECK(request.timeout > 0);
    CHECK(request.timeout <= 1);
    return Error{ErrorKind::kTransient, "no connection"};
  };
  CHECK_FAILS(Find(environment, send), ErrorKind::kDenied, "from instance metadata (disabled)");
  CHECK(requests == 0);
  environment.Set("AWS_EC2_METADATA_DISABLED", "");
  CHECK_FAILS(Find(environment, send), ErrorKind::kDenied, "from instance metadata (no connection)");
  CHECK(requests == 1);
}

TEST_CASE("when nothing is found, the error says where it was looked for and what to do") {
  CleanEnvironment environment;
  const auto found = Find(environment);
  REQUIRE_FALSE(found.ok());
  CHECK(found.error().kind == ErrorKind::kDenied);
  for (const char* words : {"AWS_ACCESS_KEY_ID", "profile 'default'", "/.aws/credentials", "/.aws/config",
                            "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "instance metadata"})
    CHECK(found.error().message.find(words) != std::string::npos);
  CHECK(found.error().hint.find("WDELTA_S3_ANONYMOUS=1") != std::string::npos);
}

TEST_CASE("credentials are kept, and renewed five minutes before they expire") {
  CleanEnvironment environment;
  environment.Set("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://localhost/x");
  unsigned asked = 0;
  bool away = false;
  int64_t now = kExpiry - 1000;
  const auto send = [&](const HttpRequest&) -> Result<HttpAnswer> {
    ++asked;
    if (away) return Error{ErrorKind::kTransient, "no connection"};
    HttpAnswer answer{.status = 200};
    const std::string body = Json("Token");
    answer.body.assign(body.begin(), body.end());
    return answer;
  };
  CredentialChain chain(send, {.environment = environment.value()}, [&] { return now; });
  REQUIRE_OK(chain.Get());
  REQUIRE_OK(chain.Get());
  CHECK(asked == 1);
  now = kExpiry - 301;
  REQUIRE_OK(chain.Get());
  CHECK(asked == 1);
  now = kExpiry - 300;
  REQUIRE_OK(chain.Get());
  CHECK(asked == 2);
  away = true;  // the old ones do as long as they are valid
  now = kExpiry - 1;
  REQUIRE_OK(chain.Get());
  CHECK(asked == 3);
  now = kExpiry;
  CHECK_FAILS(chain.Get(), ErrorKind::kTransient, "no connection");
  away = false;
  now = kExpiry - 1000;
  chain.Invalidate();
  REQUIRE_OK(chain.Get());
  CHECK(asked == 5);
}

}  // namespace
}  // namespace wdelta
