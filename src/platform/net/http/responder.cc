#include <utility>

#include "src/platform/net/http/answer.h"
#include "src/platform/net/http/server.h"

namespace kgpu::http {

void Responder::Send(Response response) const {
  answer_->Send(std::move(response));
}

Stream Responder::Begin(Response head) const {
  // The next request's handler may run meanwhile, and move this responder.
  Stream stream(answer_);
  stream.answer_->Begin(std::move(head));
  return stream;
}

bool Responder::is_open() const {
  return answer_->is_waiting();
}

void Responder::OnGone(std::function<void()> task) const {
  answer_->OnGone(std::move(task));
}

bool Stream::Write(std::string_view bytes) const {
  return answer_->Write(bytes);
}

void Stream::End() const {
  answer_->End();
}

size_t Stream::pending() const {
  return answer_->pending();
}

void Stream::OnDrained(std::function<void()> task) const {
  answer_->OnDrained(std::move(task));
}

bool Stream::is_open() const {
  return answer_->is_streaming();
}

}  // namespace kgpu::http
