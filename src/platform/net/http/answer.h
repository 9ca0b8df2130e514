// What is behind responders and streams: where the response to one request goes.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

#include "src/platform/net/http/message.h"

namespace kgpu::http {

// See Responder and Stream in server.h, whose calls arrive here: either Send, or Begin, Write … and
// End; each ignored at another time, and once the peer is gone. Its last owner abandons the request
// on destruction.
class Answer {
 public:
  virtual ~Answer() = default;
  virtual void Send(Response response) = 0;
  virtual void Begin(Response head) = 0;
  virtual bool Write(std::string_view bytes) = 0;
  virtual void End() = 0;
  // Whether the response has not begun, and whether it has and continues.
  virtual bool is_waiting() const = 0;
  virtual bool is_streaming() const = 0;
  virtual size_t pending() const = 0;
  virtual void OnDrained(std::function<void()> task) = 0;
  virtual void OnGone(std::function<void()> task) = 0;
};

}  // namespace kgpu::http
