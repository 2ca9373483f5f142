// A plain blocking HTTP client that sends exactly the bytes it is told, and a waiting helper. Tests only.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace saccade::testing {

// Far above what any step of a test needs, sanitizers on a busy machine included: only a hang gets there.
inline constexpr int kPatienceMs = 60'000;

// Polls a condition that has no notification. True when it came true.
inline bool Eventually(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(kPatienceMs);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

struct ClientReply {
  int status = 0;                              // 0: the connection ended before a whole answer
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;                            // chunks joined

  std::string Header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }
};

class TestClient {
 public:
  explicit TestClient(int port) {
    socket_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  }
  ~TestClient() { Close(); }
  TestClient(const TestClient&) = delete;
  TestClient& operator=(const TestClient&) = delete;

  bool connected() const { return connected_; }
  void Close() {
    if (socket_ >= 0) ::close(socket_);
    socket_ = -1;
  }

  // False when the server no longer takes bytes.
  bool Send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }

  // GET or POST with what a usual client sends.
  ClientReply Get(const std::string& path, const std::string& headers = "") {
    Send("GET " + path + " HTTP/1.1\r\nHost: test\r\n" + headers + "\r\n");
    return ReadReply();
  }
  bool SendPost(const std::string& path, const std::string& body, const std::string& headers = "") {
    return Send("POST " + path +
                " HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\nContent-Length: " +
                std::to_string(body.size()) + "\r\n" + headers + "\r\n" + body);
  }
  ClientReply Post(const std::string& path, const std::string& body, const std::string& headers = "") {
    SendPost(path, body, headers);
    return ReadReply();
  }

  // One whole answer. Interim answers (100) are returned like any other.
  ClientReply ReadReply(bool head_only = false) {
    ClientReply reply = ReadHead();
    if (reply.status == 0 || reply.status / 100 == 1 || reply.status == 204 || reply.status == 304 ||
        head_only) {
      return reply;
    }
    if (reply.Header("transfer-encoding") == "chunked") {
      while (true) {
        const std::string chunk = ReadChunk();
        if (chunk.empty()) break;
        reply.body += chunk;
      }
    } else if (!reply.Header("content-length").empty()) {
      reply.body = ReadBytes(std::stoul(reply.Header("content-length")));
    } else {
      while (Receive()) continue;
      reply.body = std::exchange(received_, {});
    }
    return reply;
  }

  ClientReply ReadHead() {
    ClientReply reply;
    const std::string head = ReadUntil("\r\n\r\n");
    if (head.size() < 12) return reply;
    reply.status = std::stoi(head.substr(9, 3));
    size_t line = head.find("\r\n") + 2;
    while (line + 2 < head.size()) {
      const size_t end = head.find("\r\n", line), colon = head.find(": ", line);
      std::string name = head.substr(line, colon - line);
      for (char& c : name) c = static_cast<char>(std::tolower(c));
      reply.headers[name] = head.substr(colon + 2, end - colon - 2);
      line = end + 2;
    }
    return reply;
  }

  // The bytes of the next chunk; empty for the last one or when the connection ended.
  std::string ReadChunk() {
    const std::string size_line = ReadUntil("\r\n");
    if (size_line.empty()) return "";
    const size_t size = std::stoul(size_line, nullptr, 16);
    const std::string chunk = ReadBytes(size + 2);
    last_chunk_seen_ = size == 0;
    return chunk.size() < 2 ? "" : chunk.substr(0, size);
  }
  bool last_chunk_seen() const { return last_chunk_seen_; }

  // Everything up to and including `mark`; empty when the connection ended first.
  std::string ReadUntil(std::string_view mark) {
    size_t found;
    while ((found = received_.find(mark)) == std::string::npos) {
      if (!Receive()) return "";
    }
    std::string taken = received_.substr(0, found + mark.size());
    received_.erase(0, taken.size());
    return taken;
  }
  std::string ReadBytes(size_t count) {
    while (received_.size() < count && Receive()) continue;
    std::string taken = received_.substr(0, count);
    received_.erase(0, taken.size());
    return taken;
  }
  // True when the server closes the connection without sending anything more.
  bool EndsSilently() {
    while (Receive()) continue;
    return received_.empty() && !timed_out_;
  }

 private:
  // False at the end of the connection.
  bool Receive() {
    pollfd waited{socket_, POLLIN, 0};
    if (::poll(&waited, 1, kPatienceMs) <= 0) {
      timed_out_ = true;
      ADD_FAILURE() << "the server said nothing for a minute";
      return false;
    }
    char buffer[16384];
    const ssize_t count = ::recv(socket_, buffer, sizeof(buffer), 0);
    if (count <= 0) return false;
    received_.append(buffer, static_cast<size_t>(count));
    return true;
  }

  int socket_ = -1;
  bool connected_ = false, timed_out_ = false, last_chunk_seen_ = false;
  std::string received_;
};

// A one-time event between threads.
class TestEvent {
 public:
  void Set() {
    // Notified under the lock: the one who waits may destroy the event as soon as it can take the lock.
    const std::lock_guard lock(mutex_);
    set_ = true;
    changed_.notify_all();
  }
  bool Wait() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::milliseconds(kPatienceMs), [this] { return set_; });
  }
  bool is_set() {
    const std::lock_guard lock(mutex_);
    return set_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool set_ = false;
};

}  // namespace saccade::testing
