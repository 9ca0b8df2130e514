// The body of a request for GPUs, from any program that may open the agent's socket.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "src/node/loans/ledger.h"
#include "src/node/loans/loan_request.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto request = kgpu::loans::ParseLoanRequest(text);
  if (request.ok() && (!kgpu::loans::CheckHolder(request->holder).ok() || request->count == 0 ||
                       request->count > kgpu::loans::kMaxGpusOfLoan ||
                       request->models.size() > kgpu::loans::kMaxModels)) {
    __builtin_trap();
  }
  return 0;
}
