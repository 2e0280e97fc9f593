#include "sync/session.h"

namespace wdelta {

Result<Session> Session::Open(const std::string& name, const TransferOptions& transfer, const Context& context) {
  WD_ASSIGN(RemoteName parts, ParseRemoteName(name));
  WD_ASSIGN(std::unique_ptr<Remote> remote, OpenRemote(parts.url, transfer, context));
  return Session(std::move(remote), transfer.jobs, std::move(parts.revision), parts.given);
}

Result<Session> Session::OpenWhole(const std::string& name, const TransferOptions& transfer, const Context& context,
                                   const std::string& why_not) {
  WD_ASSIGN(Session session, Open(name, transfer, context));
  if (session.named()) return Error{ErrorKind::kUsage, why_not};
  return session;
}

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
