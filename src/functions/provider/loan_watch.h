// Looks now and then whether the GPUs that were lent still work: the agent tells nobody.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "src/functions/provider/loan_client.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/lifetime.h"
#include "src/platform/base/timer.h"

namespace kgpu::functions {

// Lives on the loop's thread.
class LoanWatch {
 public:
  // Called from the loop for a loan of which a GPU has been unhealthy in two looks: not for a
  // moment, as when an agent starts or the driver is slow. `problem` is for people.
  using Unhealthy = std::function<void(const std::string& loan, const std::string& problem)>;

  // `loop` and `loans` must outlive this. `has_loans`: nobody is asked while there are none.
  LoanWatch(EventLoop& loop, LoanClient& loans, std::function<bool()> has_loans,
            Unhealthy unhealthy);
  LoanWatch(const LoanWatch&) = delete;
  LoanWatch& operator=(const LoanWatch&) = delete;

 private:
  void Arm();
  void OnLoans(const StatusOr<std::vector<Loan>>& loans);

  LoanClient& loans_;
  const std::function<bool()> has_loans_;
  const Unhealthy unhealthy_;
  std::map<std::string, std::string> problems_;  // of the last look, by loan
  Timer timer_;
  Lifetime lifetime_;
};

}  // namespace kgpu::functions
