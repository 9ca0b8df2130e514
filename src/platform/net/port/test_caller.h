// One end of a connection to a Port, for tests: HTTP/1.1 as text or HTTP/2 by nghttp2, with or
// without TLS. Takes what comes by itself.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/platform/net/h2/test_client.h"
#include "src/platform/net/tls/session.h"
#include "testing/fake_loop.h"

namespace kgpu::port {

class TestCaller {
 public:
  TestCaller(FakeLoop& loop, UniqueFd socket) : loop_(loop), socket_(std::move(socket)) {
    watch_ = loop_.WatchReadable(socket_.get(), [this] { Receive(); }).value();
  }
  ~TestCaller() { loop_.Unwatch(watch_); }
  TestCaller(const TestCaller&) = delete;
  TestCaller& operator=(const TestCaller&) = delete;

  void Secure(const std::shared_ptr<const tls::Context>& context,
              const std::vector<std::string>& protocols) {
    session_ = tls::Session::ForClient(context, "127.0.0.1", protocols).value();
    SendRaw(session_->TakeOutput());
  }
  // What comes from now on is HTTP/2.
  void SpeakHttp2() { http2_ = std::make_unique<h2::TestClient>(); }

  h2::StreamId Request(const std::string& path, std::string body = "") {
    const h2::StreamId stream = http2_->Request(path, std::move(body));
    SendHttp2();
    return stream;
  }
  void SendHttp2() { Send(http2_->Send()); }
  // Inside TLS, if there is any.
  void Send(std::string_view text) {
    if (session_ == nullptr) {
      return SendRaw(text);
    }
    (void)session_->Write(text);
    SendRaw(session_->TakeOutput());
  }
  void SendRaw(std::string_view bytes) {
    if (!bytes.empty() && send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) {
      is_closed_ = true;
    }
  }
  // Sends no more.
  void EndSending() const { shutdown(socket_.get(), SHUT_WR); }
  // Takes no more, so that the server's buffers fill, until Resume.
  void Pause() { loop_.Unwatch(std::exchange(watch_, WatchId::kNone)); }
  void Resume() {
    watch_ = loop_.WatchReadable(socket_.get(), [this] { Receive(); }).value();
  }

  const std::string& text() const { return text_; }
  h2::TestClient& http2() { return *http2_; }
  const tls::Session& session() const { return *session_; }
  const Status& status() const { return status_; }
  bool is_closed() const { return is_closed_; }

 private:
  void Receive() {
    std::array<char, 16384> part{};
    const ssize_t count = recv(socket_.get(), part.data(), part.size(), MSG_DONTWAIT);
    if (count <= 0) {
      is_closed_ = is_closed_ || count == 0 || errno != EAGAIN;
      if (is_closed_) {
        loop_.Unwatch(std::exchange(watch_, WatchId::kNone));
      }
      return;
    }
    Take({part.data(), static_cast<size_t>(count)});
  }
  void Take(std::string_view bytes) {
    std::string text(bytes);
    if (session_ != nullptr) {
      status_.Update(session_->Feed(bytes));
      text = session_->TakeInput();
      SendRaw(session_->TakeOutput());
    }
    if (http2_ != nullptr) {
      http2_->Receive(text);
      return SendHttp2();
    }
    text_ += text;
  }

  FakeLoop& loop_;
  UniqueFd socket_;
  WatchId watch_ = WatchId::kNone;
  std::unique_ptr<tls::Session> session_;
  std::unique_ptr<h2::TestClient> http2_;
  std::string text_;
  Status status_;
  bool is_closed_ = false;
};

}  // namespace kgpu::port
