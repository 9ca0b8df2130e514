#include "src/functions/gateway/local_answer.h"

#include <utility>

namespace kgpu::gateway {

LocalAnswer::LocalAnswer(std::unique_ptr<Caller> caller, Done done)
    : caller_(std::move(caller)), done_(std::move(done)) {
}

LocalAnswer::~LocalAnswer() {
  constexpr int kNoAnswerCode = 500;
  if (has_ended_) {
    return;
  }
  if (caller_->is_open()) {
    caller_->Fail(kNoAnswerCode, "the request was not answered: see the gateway's log");
    Finish({.code = code_ == 0 ? kNoAnswerCode : code_, .fault = UpstreamFault::kCut});
  } else {
    Finish({.code = kCallerLeftCode});
  }
}

void LocalAnswer::Send(http::Response response) {
  if (code_ != 0) {
    return;
  }
  code_ = response.code;
  caller_->Send(std::move(response));
  Finish({.code = code_});
}

void LocalAnswer::Begin(http::Response head) {
  if (code_ == 0) {
    code_ = head.code;
    caller_->Begin(std::move(head));
  }
}

bool LocalAnswer::Write(std::string_view bytes) {
  return is_streaming() && caller_->Write(bytes);
}

void LocalAnswer::End() {
  if (code_ != 0 && !has_ended_) {
    caller_->End();
    Finish({.code = code_});
  }
}

void LocalAnswer::Finish(const RelayResult& result) {
  has_ended_ = true;
  if (const Done done = std::exchange(done_, nullptr)) {
    done(result);
  }
}

}  // namespace kgpu::gateway
