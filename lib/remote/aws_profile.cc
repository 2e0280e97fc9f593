#include "remote/aws_profile.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>

#include "core/file.h"
#include "core/text.h"

namespace wdelta {
namespace {

constexpr uint64_t kMaxFileSize = 1 << 20;

bool IsSpace(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

std::string_view Trim(std::string_view text) {
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  return text;
}

// [profile "my own"] and [profile my-own]: one space between the words, no quotes.
std::string SectionName(std::string_view text) {
  std::string name;
  for (const char c : Trim(text)) {
    if (c == '"' || c == '\'') continue;
    if (!IsSpace(c))
      name += c;
    else if (!name.empty() && name.back() != ' ')
      name += ' ';
  }
  return name;
}

// Splits "key = value" or "key: value".
bool SplitPair(std::string_view line, std::string* key, std::string* value) {
  const size_t at = line.find_first_of("=:");
  if (at == std::string_view::npos || Trim(line.substr(0, at)).empty()) return false;
  *key = Lower(Trim(line.substr(0, at)));
  *value = Trim(line.substr(at + 1));
  return true;
}

bool IsTrue(const std::string& text) {
  return Lower(text) == "true";
}

std::string HomeFolder(const Environment& environment) {
  std::string home = environment.Get("HOME");
  if (!home.empty()) return home;
  passwd entry;
  passwd* found = nullptr;
  char buffer[4096];
  if (getpwuid_r(getuid(), &entry, buffer, sizeof buffer, &found) == 0 && found && found->pw_dir) return found->pw_dir;
  return "/";
}

std::string FilePath(const Environment& environment, const char* variable, const char* usual) {
  const std::string path = environment.Get(variable);
  if (path.empty()) return HomeFolder(environment) + "/.aws/" + usual;
  return path.starts_with("~/") ? HomeFolder(environment) + path.substr(1) : path;
}

// A file that is not there is an empty one.
Result<AwsFile> ReadAwsFile(const std::string& path) {
  auto bytes = ReadWholeFile(path, kMaxFileSize);
  if (!bytes.ok() && bytes.error().kind == ErrorKind::kNotFound) return AwsFile{};
  if (!bytes.ok()) return bytes.TakeError();
  auto file = ParseAwsFile(AsText(*bytes));
  if (file.ok()) return file;
  return Error{file.error().kind, "'" + path + "': " + file.error().message}.At(path);
}

}  // namespace

Result<AwsFile> ParseAwsFile(std::string_view text) {
  AwsFile file;
  AwsSection* section = nullptr;
  std::string key, value, last_key;
  size_t last_indent = 0;
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view raw = text.substr(0, end), line = Trim(raw);
    text.remove_prefix(std::min(end + 1, text.size()));
    const auto wrong = [&](const char* why) {
      return Error{ErrorKind::kUsage, "line " + std::to_string(number) + ": " + why};
    };
    if (line.empty() || line[0] == '#' || line[0] == ';') continue;
    const auto indent = static_cast<size_t>(line.data() - raw.data());
    if (!last_key.empty() && indent > last_indent) {  // more of the key above
      const std::string& above = (*section)[last_key];
      if (above.empty() && SplitPair(line, &key, &value)) (*section)[last_key + "." + key] = value;
      continue;
    }
    if (line[0] == '[') {
      const size_t close = line.find(']');
      if (close == std::string_view::npos) return wrong("a section without ']'");
      const std::string name = SectionName(line.substr(1, close - 1));
      if (name.empty()) return wrong("a section without a name");
      section = &file[name];
      last_key.clear();
      continue;
    }
    if (!SplitPair(line, &key, &value)) return wrong("expected '[section]' or 'key = value'");
    if (!section) return wrong("a key before the first section");
    (*section)[key] = value;
    last_key = key;
    last_indent = indent;
  }
  return file;
}

std::string AwsProfile::Value(const std::string& key) const {
  const auto found_value = values.find(key);
  return found_value == values.end() ? "" : found_value->second;
}

Result<AwsProfile> ReadAwsProfile(const Environment& environment) {
  AwsProfile profile;
  std::string name = environment.Get("AWS_PROFILE");
  if (name.empty()) name = environment.Get("AWS_DEFAULT_PROFILE");
  profile.chosen = !name.empty();
  if (profile.chosen) profile.name = name;
  profile.config_path = FilePath(environment, "AWS_CONFIG_FILE", "config");
  profile.credentials_path = FilePath(environment, "AWS_SHARED_CREDENTIALS_FILE", "credentials");
  WD_ASSIGN(AwsFile config, ReadAwsFile(profile.config_path));
  WD_ASSIGN(AwsFile credentials, ReadAwsFile(profile.credentials_path));

  auto section = config.find("profile " + profile.name);
  if (section == config.end() && profile.name == "default") section = config.find("default");
  if (section != config.end()) {
    profile.found = true;
    profile.values = section->second;
    if (profile.values.contains("aws_access_key_id")) profile.keys_path = profile.config_path;
  }
  if (const auto keys = credentials.find(profile.name); keys != credentials.end()) {
    profile.found = true;
    if (keys->second.contains("aws_access_key_id")) {  // never half of one file and half of the other
      for (const char* key : {"aws_access_key_id", "aws_secret_access_key", "aws_session_token"})
        profile.values.erase(key);
      profile.keys_path = profile.credentials_path;
    }
    for (const auto& [key, value] : keys->second) profile.values[key] = value;
  }
  const auto services = config.find("services " + profile.Value("services"));
  if (services != config.end()) profile.services = services->second;
  return profile;
}

AwsSettings ReadAwsSettings(const Environment& environment) {
  AwsProfile profile;
  if (auto read = ReadAwsProfile(environment); read.ok()) profile = std::move(*read);
  const auto first = [](std::initializer_list<std::string> values) {
    const auto* found = std::find_if(values.begin(), values.end(), [](const std::string& v) { return !v.empty(); });
    return found == values.end() ? std::string() : *found;
  };
  AwsSettings settings;
  const std::string ignored =
      first({environment.Get("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"), profile.Value("ignore_configured_endpoint_urls")});
  if (!IsTrue(ignored)) {
    const auto service = profile.services.find("s3.endpoint_url");
    settings.endpoint =
        first({environment.Get("AWS_ENDPOINT_URL_S3"), environment.Get("AWS_ENDPOINT_URL"),
               service == profile.services.end() ? "" : service->second, profile.Value("endpoint_url")});
  }
  settings.region =
      first({environment.Get("AWS_REGION"), environment.Get("AWS_DEFAULT_REGION"), profile.Value("region")});
  settings.ca_bundle = first({environment.Get("AWS_CA_BUNDLE"), profile.Value("ca_bundle")});
  settings.path_style = Lower(profile.Value("s3.addressing_style")) == "path";
  return settings;
}

}  // namespace wdelta
