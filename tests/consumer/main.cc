// A program of somebody else: it uses the installed library through its public header only, and ends with 0 if the
// calls do what the header promises.
#include <wdelta.h>

#include <cstdio>

int main() {
  const wdelta::VersionInfo version = wdelta::Version();
  if (version.version != EXPECTED_VERSION || version.commit.empty() || version.libraries.empty()) {
    std::fprintf(stderr, "consumer: version is '%s'\n", version.version.c_str());
    return 1;
  }

  wdelta::DiffRequest request;
  request.base = "no-such-checkpoint";
  request.next = "no-such-checkpoint-either";
  const wdelta::Result<wdelta::DiffReport> report = wdelta::Diff(request, wdelta::Context());
  if (report.ok() || report.error().kind != wdelta::ErrorKind::kNotFound) {
    std::fprintf(stderr, "consumer: a missing checkpoint is not reported as such\n");
    return 1;
  }
  std::printf("consumer: wdelta %s says: %s\n", version.version.c_str(), report.error().message.c_str());
  return 0;
}
