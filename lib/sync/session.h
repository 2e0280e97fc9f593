// An open remote, as a call uses it from its beginning to its end: the name that the user gave is taken apart once, and
// credentials, connections, the records that were read and the end of the history are kept.
//
//   WD_ASSIGN(Session session, Session::Open("s3://bucket/run7@HEAD~3", transfer, context));
//   WD_ASSIGN(const RecordEntry entry, session.Resolve());
//
// Not for several threads at a time, but for remote(), which is.
#pragma once

#include "reports.h"
#include "sync/remote_history.h"

namespace wdelta {

class Session {
 public:
  // `name`: URL or URL@REV. Nothing is sent yet. kUsage for a name that cannot be.
  static Result<Session> Open(const std::string& name, const TransferOptions& transfer, const Context& context);
  // For calls that are about a whole history: a revision is kUsage, with the message `why_not`.
  static Result<Session> OpenWhole(const std::string& name, const TransferOptions& transfer, const Context& context,
                                   const std::string& why_not);
  // On a remote that is open already.
  explicit Session(std::unique_ptr<Remote> remote, unsigned jobs = 0, Revision revision = {}, bool named = false)
      : remote_(std::move(remote)), history_(*remote_), jobs_(jobs), revision_(std::move(revision)), named_(named) {}

  Remote& remote() const { return *remote_; }
  const std::string& url() const { return remote_->url(); }
  RemoteHistory& history() { return history_; }
  unsigned jobs() const { return jobs_; }  // transfers at a time; 0: as it suits

  const Revision& revision() const { return revision_; }
  bool named() const { return named_; }  // the user gave the revision; else it is HEAD
  // The record that the revision stands for; kNotFound if there is none.
  Result<RecordEntry> Resolve() { return history_.Resolve(revision_); }

 private:
  std::unique_ptr<Remote> remote_;
  RemoteHistory history_;
  unsigned jobs_;
  Revision revision_;
  bool named_;
};

// Records as reports show them.
RecordInfo InfoOf(const RecordEntry& entry);
RecordInfo InfoOf(const Record& record);  // with all its totals

}  // namespace wdelta
