#include <utility>

#include "src/platform/http/answer.h"
#include "src/platform/http/server.h"

namespace kgpu::http {

void Responder::Send(Response response) const {
  if (const auto peer = answer_->peer()) {
    peer->Respond(answer_->request(), std::move(response));
  }
}

Stream Responder::Begin(Response head) const {
  // The next request's handler may run meanwhile, and move this responder.
  Stream stream(answer_);
  if (const auto peer = answer_->peer()) {
    peer->BeginStream(answer_->request(), std::move(head));
  }
  return stream;
}

bool Responder::is_open() const {
  const auto peer = answer_->peer();
  return peer && peer->IsWaiting(answer_->request());
}

void Responder::OnGone(std::function<void()> task) const {
  if (const auto peer = answer_->peer()) {
    peer->OnGone(answer_->request(), std::move(task));
  }
}

bool Stream::Write(std::string_view bytes) const {
  const auto peer = answer_->peer();
  return peer && peer->Write(answer_->request(), bytes);
}

void Stream::End() const {
  if (const auto peer = answer_->peer()) {
    peer->EndStream(answer_->request());
  }
}

size_t Stream::pending() const {
  const auto peer = answer_->peer();
  return peer ? peer->Pending(answer_->request()) : 0;
}

void Stream::OnDrained(std::function<void()> task) const {
  if (const auto peer = answer_->peer()) {
    peer->OnDrained(answer_->request(), std::move(task));
  }
}

bool Stream::is_open() const {
  const auto peer = answer_->peer();
  return peer && peer->IsStreaming(answer_->request());
}

}  // namespace kgpu::http
