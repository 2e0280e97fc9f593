#include "remote/aws_profile.h"

#include "support/clean_environment.h"
#include "support/expect.h"

namespace wdelta {
namespace {

TEST_CASE("sections, keys, comments and blocks are read as the AWS tools read them") {
  const auto file = ParseAwsFile(
      "\xef\xbb\xbf# a comment\r\n"
      "[default]\r\n"
      "Region = eu-west-1\r\n"
      "; another\n"
      "\n"
      "empty =\n"
      "output: json\n"
      "[ profile  \"my own\" ] # why not\n"
      "aws_secret_access_key = a=b#c;d e\n"
      "s3 =\n"
      "  addressing_style = path\n"
      "  # inside\n"
      "  max_concurrent_requests=20\n"
      "long = first\n"
      "  second = line\n"
      "region=x\n"
      "[default]\n"
      "output = text");
  REQUIRE_OK(file);
  const AwsFile expected{
      {"default", {{"region", "eu-west-1"}, {"empty", ""}, {"output", "text"}}},
      {"profile my own",
       {{"aws_secret_access_key", "a=b#c;d e"},
        {"s3", ""},
        {"s3.addressing_style", "path"},
        {"s3.max_concurrent_requests", "20"},
        {"long", "first"},
        {"region", "x"}}},
  };
  CHECK(*file == expected);
}

TEST_CASE("keys that are all indented alike are keys") {
  const auto file = ParseAwsFile("[a]\n  x = 1\n  y = 2\n  s3 =\n    z = 3\n  w = 4\n");
  REQUIRE_OK(file);
  CHECK(file->at("a") == AwsSection{{"x", "1"}, {"y", "2"}, {"s3", ""}, {"s3.z", "3"}, {"w", "4"}});
}

TEST_CASE("a line that makes no sense is named by its number and never shown") {
  CHECK_FAILS(ParseAwsFile("[a]\nsecret\n"), ErrorKind::kUsage, "line 2: expected");
  CHECK_FAILS(ParseAwsFile("\nsecret = x\n"), ErrorKind::kUsage, "line 2: a key before");
  CHECK_FAILS(ParseAwsFile("[secret\n"), ErrorKind::kUsage, "line 1: a section without ']'");
  CHECK_FAILS(ParseAwsFile("[ ]\n"), ErrorKind::kUsage, "line 1: a section without a name");
  CHECK_FAILS(ParseAwsFile("[a]\n= secret\n"), ErrorKind::kUsage, "line 2");
  for (const char* text : {"[a]\nsecret\n", "\nsecret = x\n", "[secret\n", "[a]\n= secret\n"})
    CHECK(ParseAwsFile(text).error().message.find("secret") == std::string::npos);
  CHECK(ParseAwsFile("")->empty());
}

TEST_CASE("the profile is the one that AWS_PROFILE names, else the default") {
  CleanEnvironment environment;
  environment.home().Write(".aws/config", "[default]\nregion = one\n[profile x]\nregion = two\n[y]\nregion = three\n");
  environment.home().Write(".aws/credentials", "[x]\naws_access_key_id = AK\naws_secret_access_key = SK\n");
  const auto standard = ReadAwsProfile(environment.value());
  REQUIRE_OK(standard);
  CHECK(standard->name == "default");
  CHECK(standard->found);
  CHECK_FALSE(standard->chosen);
  CHECK(standard->Value("region") == "one");
  CHECK(standard->Value("nothing").empty());
  environment.Set("AWS_PROFILE", "x");
  const auto chosen = ReadAwsProfile(environment.value());
  REQUIRE_OK(chosen);
  CHECK(chosen->chosen);
  CHECK(chosen->Value("region") == "two");
  CHECK(chosen->Value("aws_access_key_id") == "AK");
  CHECK(chosen->keys_path == environment.home() / ".aws/credentials");
  environment.Set("AWS_PROFILE", "y");  // without the word "profile" it is none
  CHECK_FALSE(ReadAwsProfile(environment.value())->found);
}

TEST_CASE("keys come from one file, the credentials file first") {
  CleanEnvironment environment;
  environment.home().Write(".aws/config",
                           "[default]\naws_access_key_id = A1\naws_secret_access_key = S1\naws_session_token = T1\n");
  CHECK(ReadAwsProfile(environment.value())->keys_path == environment.home() / ".aws/config");
  environment.home().Write(".aws/credentials", "[default]\naws_access_key_id = A2\naws_secret_access_key = S2\n");
  const auto profile = ReadAwsProfile(environment.value());
  REQUIRE_OK(profile);
  CHECK(profile->Value("aws_access_key_id") == "A2");
  CHECK(profile->Value("aws_session_token").empty());
}

TEST_CASE("the files may be elsewhere, and one that is broken is an error with its name") {
  CleanEnvironment environment;
  environment.home().Write("c", "[default]\nregion = here\n");
  environment.Set("AWS_CONFIG_FILE", "~/c");
  CHECK(ReadAwsProfile(environment.value())->Value("region") == "here");
  environment.home().Write("broken", "[default]\nsecret\n");
  environment.Set("AWS_SHARED_CREDENTIALS_FILE", environment.home() / "broken");
  CHECK_FAILS(ReadAwsProfile(environment.value()), ErrorKind::kUsage,
              "broken': line 2: expected '[section]' or 'key = value'");
  CHECK(ReadAwsSettings(environment.value()).region.empty());
  environment.Set("AWS_SHARED_CREDENTIALS_FILE", environment.home().path());
  CHECK_FAILS(ReadAwsProfile(environment.value()), ErrorKind::kRefused, "not a regular file");
}

TEST_CASE("an endpoint in the environment goes before one in a profile, and one for S3 before one for all") {
  CleanEnvironment environment;
  CHECK(ReadAwsSettings(environment.value()).endpoint.empty());
  environment.home().Write(".aws/config", "[default]\nendpoint_url = http://profile\n");
  CHECK(ReadAwsSettings(environment.value()).endpoint == "http://profile");
  environment.home().Write(
      ".aws/config",
      "[default]\nendpoint_url = http://profile\nservices = mine\n"
      "[services mine]\ns3 =\n  endpoint_url = http://service\nsts =\n  endpoint_url = http://no\n");
  CHECK(ReadAwsSettings(environment.value()).endpoint == "http://service");
  environment.Set("AWS_ENDPOINT_URL", "http://all");
  CHECK(ReadAwsSettings(environment.value()).endpoint == "http://all");
  environment.Set("AWS_ENDPOINT_URL_S3", "http://s3");
  CHECK(ReadAwsSettings(environment.value()).endpoint == "http://s3");
  environment.Set("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true");
  CHECK(ReadAwsSettings(environment.value()).endpoint.empty());
}

TEST_CASE("region, certificates and the style of addresses come from the environment and the profile") {
  CleanEnvironment environment;
  environment.home().Write(".aws/config",
                           "[default]\nregion = r1\nca_bundle = /ca1\ns3 =\n  addressing_style = Path\n");
  CHECK(ReadAwsSettings(environment.value()).region == "r1");
  CHECK(ReadAwsSettings(environment.value()).ca_bundle == "/ca1");
  CHECK(ReadAwsSettings(environment.value()).path_style);
  environment.Set("AWS_DEFAULT_REGION", "r2");
  CHECK(ReadAwsSettings(environment.value()).region == "r2");
  environment.Set("AWS_REGION", "r3");
  CHECK(ReadAwsSettings(environment.value()).region == "r3");
  environment.Set("AWS_CA_BUNDLE", "/ca2");
  CHECK(ReadAwsSettings(environment.value()).ca_bundle == "/ca2");
  environment.home().Write(".aws/config", "[default]\ns3 =\n  addressing_style = virtual\n");
  CHECK_FALSE(ReadAwsSettings(environment.value()).path_style);
}

}  // namespace
}  // namespace wdelta
