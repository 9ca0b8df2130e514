// Where the answer to one request goes: a connection, or memory.
#pragma once

#include <string_view>

#include "src/platform/http/message.h"

namespace kgpu::apiserver {

// Loop thread only. Nothing of it calls back into the server.
class Sink {
 public:
  virtual ~Sink() = default;
  // The whole answer; nothing follows.
  virtual void Answer(const http::Response& response) = 0;
  // An answer in pieces: Begin once, then Write, then End or Cut.
  virtual void Begin(int code, const http::Headers& headers) = 0;
  // False when the peer has gone or is so slow that it was disconnected.
  virtual bool Write(std::string_view bytes) = 0;
  virtual void End() = 0;
  // The connection breaks: before Begin or Answer without an answer, after it in the middle.
  virtual void Cut() = 0;
  virtual bool is_open() const = 0;
};

}  // namespace kgpu::apiserver
