#include "support/scripted_server.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cctype>

namespace wdelta {

std::string SeenRequest::Header(const std::string& name) const {
  const size_t at = ("\n" + head).find("\n" + name + ": ");
  if (at == std::string::npos) return "(none)";
  const size_t begin = at + name.size() + 2;
  return head.substr(begin, head.find('\r', begin) - begin);
}

ScriptedServer::ScriptedServer(Script script) : script_(std::move(script)) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  REQUIRE(bind(listener_, generic, size) == 0);
  REQUIRE(listen(listener_, 64) == 0);
  REQUIRE(getsockname(listener_, generic, &size) == 0);
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { Serve(); });
}

ScriptedServer::~ScriptedServer() {
  ends_ = true;
  thread_.join();
  close(listener_);
}

std::vector<SeenRequest> ScriptedServer::seen() const {
  const std::lock_guard lock(mutex_);
  return seen_;
}

void ScriptedServer::Serve() {
  while (!ends_) {
    pollfd waiting{listener_, POLLIN, 0};
    if (poll(&waiting, 1, 20) <= 0) continue;
    const int connection = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) continue;
    Answer(connection);
    close(connection);
  }
}

void ScriptedServer::Answer(int connection) {
  std::string text;
  size_t head_end = std::string::npos, body_size = 0;
  char buffer[1 << 16];
  while (head_end == std::string::npos || text.size() < head_end + 4 + body_size) {
    const ssize_t count = recv(connection, buffer, sizeof buffer, 0);
    if (count <= 0) return;
    text.append(buffer, static_cast<size_t>(count));
    if (head_end != std::string::npos) continue;
    head_end = text.find("\r\n\r\n");
    if (head_end == std::string::npos) continue;
    SeenRequest request;
    request.line = text.substr(0, text.find('\r'));
    request.head = text.substr(request.line.size() + 2, head_end - request.line.size());
    bool in_name = true;
    for (char& c : request.head) {
      if (c == ':') in_name = false;
      if (c == '\n') in_name = true;
      if (in_name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    const std::string length = request.Header("content-length");
    if (length != "(none)") body_size = std::stoul(length);
    const std::lock_guard lock(mutex_);
    seen_.push_back(request);
  }
  SeenRequest request;
  {
    const std::lock_guard lock(mutex_);
    seen_.back().body = text.substr(head_end + 4);
    request = seen_.back();
  }
  const std::string answer = script_(request);
  for (size_t sent = 0; sent < answer.size();) {
    const ssize_t count = send(connection, answer.data() + sent, answer.size() - sent, MSG_NOSIGNAL);
    if (count <= 0) return;
    sent += static_cast<size_t>(count);
  }
}

std::string HttpText(int status, const std::string& headers, const std::string& body) {
  return "HTTP/1.1 " + std::to_string(status) + " Status\r\nConnection: close\r\n" + headers +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

}  // namespace wdelta
