// Everything that a history keeps in a store: records, added ways, the hint, tags, and the names that people give them.
// What is understood must be written and understood again as the same.
#include <cstdlib>

#include "history/record.h"
#include "history/revision.h"

using namespace wdelta;  // NOLINT(google-build-using-namespace): a program, and all of it is about the library

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  const ByteSpan bytes(data + 1, size - 1);
  const uint64_t number = 1 + data[0] % 70;
  std::string sealed(AsText(bytes));  // with a right checksum, so that the rest of the record is reached, too
  sealed += RecordCheck(sealed);
  if (const Result<Record> record = ParseRecord(AsBytes(sealed), number); record.ok()) {
    const std::string text = RecordText(*record);
    const Result<Record> again = ParseRecord(AsBytes(text), number);
    if (!again.ok() || RecordText(*again) != text) std::abort();
  }
  if (const Result<AddedWay> way = ParseAddedWay(bytes); way.ok()) {
    const Result<AddedWay> again = ParseAddedWay(AsBytes(AddedWayText(*way)));
    if (!again.ok() || again->way != way->way || again->number != way->number) std::abort();
  }
  if (const Result<TipHint> hint = ParseTipHint(bytes); hint.ok()) {
    const Result<TipHint> again = ParseTipHint(AsBytes(TipHintText(*hint)));
    if (!again.ok() || again->number != hint->number || again->anchors != hint->anchors) std::abort();
  }
  if (const Result<Tag> tag = ParseTag(bytes); tag.ok()) {
    if (!ParseTag(AsBytes(TagText(*tag))).ok()) std::abort();
  }
  const std::string name(AsText(bytes));
  (void)ParseRevision(name).ok();
  (void)ParseRemoteRange(name).ok();
  if (const auto key_number = RecordNumberOf(name); key_number && RecordKey(*key_number) != name) std::abort();
  return 0;
}
