// A program of another project: it uses the installed library through its public header only, pushes a checkpoint into
// a folder, pulls it elsewhere, and ends with 0 if the calls do what the header promises.
#include <unistd.h>
#include <wdelta/wdelta.h>

#if defined(WD_TRY) || defined(WD_ASSIGN)
#error "a macro of the library's own reaches the programs that use it"
#endif

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

namespace {

int Fail(const std::string& what) {
  std::fprintf(stderr, "consumer: %s\n", what.c_str());
  return 1;
}

// One tensor of two elements, as a safetensors file.
std::string Checkpoint(const std::string& values) {
  const std::string header = R"({"w":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}})";
  const uint64_t length = header.size();
  std::string file(sizeof length, '\0');
  std::memcpy(file.data(), &length, sizeof length);
  return file + header + values;
}

std::string Read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

int PushAndPull(const std::string& folder) {
  for (const char* const values : {"abcd", "abce"}) {
    const std::string content = Checkpoint(values);
    std::ofstream(folder + "/model.safetensors", std::ios::binary) << content;
    wdelta::PushRequest push;
    push.source = folder + "/model.safetensors";
    push.remote = "file://" + folder + "/remote";
    push.keep_base = wdelta::KeepBase::kCopy;
    const auto pushed = wdelta::Push(push, wdelta::Context());
    if (!pushed.ok()) return Fail("push: " + pushed.error().message);
    wdelta::PullRequest pull;
    pull.remote = push.remote;
    pull.folder = folder + "/replica";
    const auto pulled = wdelta::Pull(pull, wdelta::Context());
    if (!pulled.ok()) return Fail("pull: " + pulled.error().message);
    if (pulled->record.state != pushed->record.state) return Fail("the pulled record is not the pushed one");
    if (Read(pulled->path + "/model.safetensors") != content) return Fail("the pulled bytes are not the pushed ones");
  }
  return 0;
}

}  // namespace

int main() {
  const wdelta::VersionInfo version = wdelta::Version();
  if (version.version != EXPECTED_VERSION || version.commit.empty() || version.libraries.empty()) {
    return Fail("version is '" + version.version + "'");
  }
  wdelta::DiffRequest request;
  request.base = "no-such-checkpoint";
  request.next = "no-such-checkpoint-either";
  const wdelta::Result<wdelta::DiffReport> report = wdelta::Diff(request, wdelta::Context());
  if (report.ok() || report.error().kind != wdelta::ErrorKind::kNotFound) {
    return Fail("a missing checkpoint is not reported as such");
  }
  char folder[] = "/tmp/wdelta-consumer-XXXXXX";
  if (!mkdtemp(folder)) return Fail("no temporary folder");
  const int failed = PushAndPull(folder);
  std::printf("consumer: wdelta %s pushed and pulled, and says: %s\n", version.version.c_str(),
              report.error().message.c_str());
  const std::string remove = std::string("rm -rf ") + folder;
  return std::system(remove.c_str()) == 0 ? failed : 1;
}
