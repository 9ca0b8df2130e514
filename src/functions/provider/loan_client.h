// Borrows GPUs from this node's agent, through its socket. Lives on the loop's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/functions/provider/loan.h"
#include "src/functions/spec/function.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "src/platform/net/http/client.h"

namespace kgpu::functions {

// Errors: InvalidArgument (not what the agent answers).
StatusOr<Loan> ParseLoan(std::string_view json);
StatusOr<std::vector<Loan>> ParseLoans(std::string_view json);

class LoanClient {
 public:
  // `socket`: the agent's. `loop` must outlive this.
  LoanClient(EventLoop& loop, std::string socket) : loop_(loop), socket_(std::move(socket)) {}
  LoanClient(const LoanClient&) = delete;
  LoanClient& operator=(const LoanClient&) = delete;

  // The callbacks come once, from the loop; not after this is destroyed.
  // Errors: ResourceExhausted (no GPU is free now), FailedPrecondition (this machine can never lend
  // them: the text says why), Unavailable (no agent answers: try again).
  void Borrow(const std::string& holder, const GpuRequest& gpus,
              std::function<void(StatusOr<Loan>)> done);
  // Whether Borrow would succeed now; borrows nothing. Errors: those of Borrow.
  void Check(const std::string& holder, const GpuRequest& gpus, std::function<void(Status)> done);
  // OK if there is no such loan. Errors: Unavailable.
  void Return(const std::string& id, std::function<void(Status)> done);
  // The loans of all functions. Errors: Unavailable.
  void List(std::function<void(StatusOr<std::vector<Loan>>)> done);

 private:
  using Answered = std::function<void(const StatusOr<std::string>& body)>;
  void Send(const http::Request& request, Answered answered);

  EventLoop& loop_;
  const std::string socket_;
  uint64_t last_ = 0;
  std::map<uint64_t, std::unique_ptr<http::Call>> calls_;
};

}  // namespace kgpu::functions
