#include "local/sglang_marker.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "core/folder_lock.h"
#include "core/json.h"
#include "core/path.h"
#include "core/text.h"

namespace wdelta {

namespace {

std::string FolderOf(const std::string& checkpoint) {
  return checkpoint + "/.weight_sync";
}
std::string StateOf(const std::string& checkpoint) {
  return FolderOf(checkpoint) + "/state.json";
}

// Never the folder of the checkpoint itself: a marker in an empty folder would say that the weights are there.
Result<> MakeFolder(const std::string& checkpoint) {
  if (mkdir(FolderOf(checkpoint).c_str(), 0777) == 0 || errno == EEXIST) return {};
  return SystemError("create", FolderOf(checkpoint), errno);
}

}  // namespace

bool SglangMarker::IsIn(const std::string& path) {
  return PathExists(FolderOf(path));
}

Result<SglangMarker> SglangMarker::Take(const std::string& path, double wait, const StopToken& stop) {
  const bool was_there = IsIn(path);
  WD_TRY(MakeFolder(path));
  WD_ASSIGN(File lock, LockFolder(FolderOf(path) + "/lock", path, wait, stop));
  RemoveTemporaries(FolderOf(path));
  return SglangMarker(path, std::move(lock), was_there);
}

// Some revisions of SGLang say more than the version; of that only "valid" matters.
Result<std::optional<uint64_t>> SglangMarker::Read() const {
  if (access(StateOf(path_).c_str(), F_OK) != 0) return std::optional<uint64_t>();
  WD_ASSIGN(const Bytes bytes, ReadWholeFile(StateOf(path_), 1 << 20));
  std::optional<uint64_t> version;
  const auto parse = [&]() -> Result<> {
    if (!ValidUtf8(bytes)) return Error{ErrorKind::kIntegrity, "not UTF-8"};
    bool is_valid = true;
    JsonReader json(AsText(bytes));
    WD_TRY(json.BeginObject());
    for (;;) {
      WD_ASSIGN(const std::optional<std::string_view> key, json.NextKey());
      if (!key) break;
      const bool is_version = *key == "version", is_verdict = *key == "valid";
      WD_ASSIGN(const JsonReader::Type type, json.Peek());
      if (is_verdict) is_valid = type == JsonReader::Type::kTrue;
      if (is_version && type == JsonReader::Type::kString) {
        WD_ASSIGN(const std::string_view text, json.String());
        version = WholeNumber(text);
      } else if (is_version && type == JsonReader::Type::kNumber) {
        WD_ASSIGN(version, json.UnsignedInteger());
      } else {
        WD_TRY(json.Skip());
      }
    }
    if (!is_valid) version.reset();
    return json.End();
  };
  Result<> parsed = parse();
  if (parsed.ok()) return version;
  auto error = parsed.TakeError();
  error->message = "'" + StateOf(path_) + "' is damaged: " + error->message;
  error->path = StateOf(path_);
  error->hint = "if nothing else works on that folder, remove this file and run the command again";
  return error;
}

Result<> SglangMarker::Clear(const std::string& path, bool durable) {
  if (!IsIn(path)) return {};
  if (unlink(StateOf(path).c_str()) != 0 && errno != ENOENT) return SystemError("remove", StateOf(path), errno);
  return durable ? SyncFolder(FolderOf(path)) : Result<>();
}

Result<> SglangMarker::Write(const std::string& path, uint64_t version, bool durable) {
  WD_TRY(MakeFolder(path));
  const std::string text = fmt::format(R"({{"version": "{:06}"}})", version);
  WD_ASSIGN(const std::unique_ptr<ByteSink> sink, OpenSink(StateOf(path), durable));
  WD_TRY(sink->Write(AsBytes(text)));
  return sink->Commit();
}

void SglangMarker::Remove(const std::string& path) {
  RemoveTree(FolderOf(path));
}

}  // namespace wdelta
