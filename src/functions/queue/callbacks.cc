#include "src/functions/queue/callbacks.h"

#include <utility>

#include "src/functions/queue/call_rules.h"

namespace kgpu::functions {

void Callbacks::Tell(CallRecord call, CallOutcome outcome, Told told) {
  if (call.callback.empty()) {
    return told(std::move(call));
  }
  const StatusOr<CallbackUrl> url = ParseCallbackUrl(call.callback);
  StatusOr<std::shared_ptr<const tls::Context>> trust =
      url.ok() ? TrustFor(*url) : StatusOr<std::shared_ptr<const tls::Context>>(url.status());
  if (!trust.ok()) {
    call.is_dead = true;
    call.problem = Message(trust.status());
    return told(std::move(call));
  }
  http::Headers headers = CallbackHeaders(call, outcome);
  const int64_t number = call.number;
  running_[number] = Callback::Start(
      loop_, *url, *std::move(trust), std::move(headers), std::move(outcome.body),
      [this, call = std::move(call), told = std::move(told)](const Status& status) mutable {
        if (!status.ok()) {
          call.is_dead = true;
          call.problem = Message(status);
        }
        // It owns this function.
        const auto ended = running_.extract(call.number);
        told(std::move(call));
      });
}

StatusOr<std::shared_ptr<const tls::Context>> Callbacks::TrustFor(const CallbackUrl& url) const {
  if (!url.is_https) {
    return nullptr;
  }
  if (!trust_) {
    return FailedPrecondition("callback {}: no certificate authorities are known here", url.host);
  }
  return trust_();
}

}  // namespace kgpu::functions
