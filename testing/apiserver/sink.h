// Receives the response to one request: a connection, or memory.
#pragma once

#include <string_view>

#include "src/platform/net/http/message.h"

namespace kgpu::apiserver {

// Loop thread only. Must not call back into the server.
class Sink {
 public:
  virtual ~Sink() = default;
  // The complete response; nothing follows.
  virtual void Answer(const http::Response& response) = 0;
  // A response in pieces: Begin once, then Write, then End or Cut.
  virtual void Begin(int code, const http::Headers& headers) = 0;
  // False if the peer is gone, or was disconnected because it is too slow.
  virtual bool Write(std::string_view bytes) = 0;
  virtual void End() = 0;
  // Breaks the connection: before Begin or Answer without a response, later in the middle of it.
  virtual void Cut() = 0;
  virtual bool is_open() const = 0;
};

}  // namespace kgpu::apiserver
