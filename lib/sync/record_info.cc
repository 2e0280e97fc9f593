#include "sync/record_info.h"

#include "remote/remote.h"

namespace wdelta {

RecordInfo InfoOf(const RecordEntry& entry) {
  RecordInfo info;
  info.number = entry.number;
  info.step = entry.step;
  info.created = entry.created;
  info.state = Hex(entry.state);
  info.fingerprint = Hex(entry.fingerprint);
  info.totals.elements_total = entry.elements_total;
  info.totals.elements_changed = entry.elements_changed;
  info.totals.bytes_total = entry.bytes_total;
  if (entry.delta) info.delta_bytes = entry.delta->bytes();
  if (entry.anchor) info.anchor_bytes = entry.anchor->bytes();
  return info;
}

RecordInfo InfoOf(const Record& record) {
  RecordInfo info = InfoOf(record.entry);
  info.totals = record.totals;
  return info;
}

}  // namespace wdelta
