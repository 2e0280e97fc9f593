#include "support/stored_run.h"

#include <filesystem>

#include "canonical/version.h"
#include "canonical/whole_version.h"
#include "foreign/canonical_index.h"
#include "support/expect.h"
#include "sync/object_transfer.h"
#include "wdelta.h"

namespace wdelta {

namespace {

Sha256Digest FromText(const std::string& hex) {
  Sha256Digest digest{};
  FromHex(hex, digest);
  return digest;
}

}  // namespace

StoredRun::StoredRun() : remote_(OpenMemoryRemote(store_)) {}

std::string StoredRun::Write(uint16_t step) {
  MadeCheckpoint made;
  made.with_index = true;
  made.shards = {{"m-1.safetensors", {Ramp("embed", 1'100'000)}, {}, 0},
                 {"m-2.safetensors", {Ramp("head", 400)}, {}, 0}};
  made.companions = {{"config.json", "{}"}};
  for (uint16_t done = 1; done <= step; ++done) {
    Store(made.shards[0].tensors[0].data.data() + 2000U * done, done);
    Store(made.shards[1].tensors[0].data.data() + 4U * done, done);
  }
  const std::string name = "run/" + std::to_string(step);
  if (!folder_.Exists(name)) WriteCheckpoint(folder_, name, made);
  return folder_ / name;
}

uint64_t StoredRun::model_bytes() const {
  uint64_t bytes = 0;
  for (const auto& [name, content] : folder_.TreeOf("run/1")) bytes += content.size();
  return bytes;
}

void StoredRun::Push(uint16_t step, bool anchor) {
  const std::string next = Write(step), pack = folder_ / "pack.wdp";
  anchor = anchor || records_.empty();
  PackRequest request{.inputs = {next}, .anchor = true, .output = pack};
  if (!anchor)
    request = {.inputs = {folder_ / ("run/" + std::to_string(*records_.back().entry.step)), next}, .output = pack};
  const Result<PackReport> packed = Pack(request, {});
  REQUIRE_OK(packed);
  const Result<ReadyPack> ready = CheckPack(pack, {});
  REQUIRE_OK(ready);
  REQUIRE_OK(UploadPack(*remote_, *ready, 1, {}));
  folder_.Remove("pack.wdp");

  Record record;
  record.history = std::string(32, 'a');
  record.writer = std::string(32, 'b');
  record.layout = FromText(packed->result.layout);
  record.totals = packed->totals;
  RecordEntry& entry = record.entry;
  entry.number = records_.size() + 1;
  entry.state = FromText(packed->result.state);
  entry.fingerprint = FromText(packed->result.fingerprint);
  entry.step = step;
  entry.created = static_cast<uint64_t>(time(nullptr));
  entry.elements_total = packed->totals.elements_total;
  entry.elements_changed = packed->totals.elements_changed;
  entry.bytes_total = packed->totals.bytes_total;

  (anchor ? entry.anchor : entry.delta) = ready->AsWay(anchor ? 0 : entry.number - 1);
  if (!records_.empty()) record.previous = records_.back().entry.record;
  if (!anchor) record.base_state = records_.back().entry.state;
  if (!anchor) record.base_fingerprint = records_.back().entry.fingerprint;
  for (uint64_t i = FirstCovered(entry.number); i < entry.number; ++i) record.earlier.push_back(records_[i - 1].entry);
  if (FirstCovered(entry.number) > 1) record.before = records_[FirstCovered(entry.number) - 2].entry.record;
  entry.record = DigestSha256(AsBytes(RecordText(record)));
  REQUIRE_OK(RemoteHistory(*remote_).Append(record));
  records_.push_back(std::move(record));
}

std::string StoredRun::ObjectOf(uint64_t number) const {
  const RecordEntry& found = entry(number);
  return ObjectKey((found.delta ? *found.delta : *found.anchor).objects[0].sha256);
}

void StoredRun::Publish(uint16_t step, bool whole) {
  const std::string next = Write(step);
  const uint64_t version = published_.size() + 1;
  const std::string prefix = std::string(kVersionPrefix) + VersionFolder(version) + "/";
  const auto put = [&](const std::string& name, const std::string& content) {
    store_->Put(prefix + name, Bytes(content.begin(), content.end()));
  };
  if (whole) {
    const Result<Checkpoint> checkpoint = Checkpoint::Open(next, {}, [](const std::string&) {});
    REQUIRE_OK(checkpoint);
    const Result<WholeVersion> wrapped = WrapWholeVersion(*checkpoint, DigestFiles(*checkpoint, {})->files, version);
    REQUIRE_OK(wrapped);
    for (const auto& [name, content] : TreeOfStep(step)) put(name, content);
    put(kSumsFile, wrapped->sums);
    put(kIndexFile, wrapped->index);
  } else {
    PackRequest request{.inputs = {published_.back(), next}, .output = folder_ / "delta", .format = "canonical"};
    request.version = VersionName(version);
    request.base_version = VersionName(version - 1);
    REQUIRE_OK(Pack(request, {}));
    for (const auto& [name, content] : folder_.TreeOf("delta")) put(name, content);
    folder_.Remove("delta");
  }
  published_.push_back(next);
  const std::string pointer = PointerText({"run", version});
  store_->Put(kLatestKey, Bytes(pointer.begin(), pointer.end()));
}

}  // namespace wdelta
