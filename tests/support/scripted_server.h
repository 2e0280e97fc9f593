// A web server on this machine that answers as the test says, right or wrong, and remembers what it was asked.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace wdelta {

struct SeenRequest {
  std::string line;  // "GET /path?query HTTP/1.1"
  std::string head;  // all header lines, names in lower case, each with its line break
  std::string body;
  // The value of the header of this (lower-case) name, or "(none)".
  std::string Header(const std::string& name) const;
};

class ScriptedServer {
 public:
  // What is sent for a request, byte for byte; the connection is closed after it. Called on the server's thread.
  using Script = std::function<std::string(const SeenRequest&)>;

  explicit ScriptedServer(Script script);
  ~ScriptedServer();
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  std::vector<SeenRequest> seen() const;

 private:
  void Serve();
  void Answer(int connection);

  Script script_;
  int listener_ = -1;
  unsigned port_ = 0;
  std::atomic<bool> ends_{false};
  mutable std::mutex mutex_;
  std::vector<SeenRequest> seen_;
  std::thread thread_;
};

// A well-formed answer: status line, the given header lines ("Name: value\r\n" each), Content-Length, body.
std::string HttpText(int status, const std::string& headers, const std::string& body);

}  // namespace wdelta
