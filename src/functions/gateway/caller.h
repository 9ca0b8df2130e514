// Who waits for an answer of the gateway: by HTTP/1.1, by HTTP/2 or by gRPC.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "src/platform/net/h2/peer.h"
#include "src/platform/net/http/message.h"
#include "src/platform/net/http/server.h"

namespace kgpu::gateway {

// OpenFx's error: {"code": number of gRPC, "message", "details"}. `code` is HTTP's.
http::Response ErrorResponse(int code, std::string_view text);

// The response, which pages of any site may read if `allows_any_origin`.
http::Response Allowing(http::Response response, bool allows_any_origin);

// Either Send, or Begin, Write … and End; each ignored if the caller is gone. Lives on the loop's
// thread.
class Caller {
 public:
  virtual ~Caller() = default;
  virtual void Send(http::Response response) = 0;
  virtual void Begin(http::Response head) = 0;
  // False if the caller is gone, or cannot take more.
  virtual bool Write(std::string_view bytes) = 0;
  virtual void End() = 0;
  // An error in place of the rest of the answer. A caller by HTTP whose answer has begun sees, once
  // this is destroyed, that it was cut off.
  virtual void Fail(int code, std::string_view text) = 0;
  virtual bool is_open() const = 0;
  // Bytes that it has not accepted yet.
  virtual size_t pending() const = 0;
  // Calls `task` once, from the loop, when nothing is pending or the caller is gone.
  virtual void OnDrained(std::function<void()> task) = 0;
  // Calls `task` once, from the loop, if the caller leaves before its answer is complete. Neither
  // task is called once this is destroyed.
  virtual void OnGone(std::function<void()> task) = 0;
};

// `allows_any_origin`: pages of any site may read the answer.
class Http1Caller final : public Caller {
 public:
  Http1Caller(http::Responder responder, bool allows_any_origin)
      : responder_(std::move(responder)), allows_any_origin_(allows_any_origin) {}

  void Send(http::Response response) override;
  void Begin(http::Response head) override;
  bool Write(std::string_view bytes) override { return stream_ && stream_->Write(bytes); }
  void End() override;
  void Fail(int code, std::string_view text) override;
  bool is_open() const override { return stream_ ? stream_->is_open() : responder_.is_open(); }
  size_t pending() const override { return stream_ ? stream_->pending() : 0; }
  void OnDrained(std::function<void()> task) override;
  void OnGone(std::function<void()> task) override { responder_.OnGone(std::move(task)); }

 private:
  const http::Responder responder_;
  const bool allows_any_origin_;
  std::optional<http::Stream> stream_;
};

class Http2Caller final : public Caller {
 public:
  Http2Caller(h2::Responder responder, bool allows_any_origin)
      : responder_(std::move(responder)), allows_any_origin_(allows_any_origin) {}

  void Send(http::Response response) override;
  void Begin(http::Response head) override;
  bool Write(std::string_view bytes) override { return responder_.Write(bytes); }
  void End() override { responder_.End(); }
  void Fail(int code, std::string_view text) override;
  bool is_open() const override { return responder_.is_open(); }
  size_t pending() const override { return responder_.pending(); }
  void OnDrained(std::function<void()> task) override { responder_.OnDrained(std::move(task)); }
  void OnGone(std::function<void()> task) override { responder_.OnGone(std::move(task)); }

 private:
  const h2::Responder responder_;
  const bool allows_any_origin_;
  bool has_begun_ = false;
};

// A unary call of pb.FxGateway: its answer goes out as one message, at its end.
class GrpcCaller final : public Caller {
 public:
  GrpcCaller(h2::Responder responder, std::string method)
      : responder_(std::move(responder)), method_(std::move(method)) {}

  void Send(http::Response response) override;
  void Begin(http::Response head) override { answer_ = std::move(head); }
  bool Write(std::string_view bytes) override;
  void End() override { Send(std::move(answer_)); }
  void Fail(int code, std::string_view text) override { Send(ErrorResponse(code, text)); }
  bool is_open() const override { return responder_.is_open(); }
  size_t pending() const override { return 0; }
  void OnDrained(std::function<void()> task) override { responder_.OnDrained(std::move(task)); }
  void OnGone(std::function<void()> task) override { responder_.OnGone(std::move(task)); }

 private:
  const h2::Responder responder_;
  const std::string method_;
  http::Response answer_{};
};

}  // namespace kgpu::gateway
