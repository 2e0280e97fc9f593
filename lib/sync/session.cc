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

}  // namespace wdelta
