#include "src/functions/provider/loan_watch.h"

#include <utility>

namespace kgpu::functions {
namespace {

constexpr std::chrono::seconds kLookEvery{10};

}  // namespace

LoanWatch::LoanWatch(EventLoop& loop, LoanClient& loans, std::function<bool()> has_loans,
                     Unhealthy unhealthy)
    : loans_(loans),
      has_loans_(std::move(has_loans)),
      unhealthy_(std::move(unhealthy)),
      timer_(loop) {
  Arm();
}

void LoanWatch::Arm() {
  timer_.Arm(kLookEvery, [this] {
    if (!has_loans_()) {
      problems_.clear();
      return Arm();
    }
    loans_.List(lifetime_.Bind([this](const StatusOr<std::vector<Loan>>& loans) {
      OnLoans(loans);
      Arm();
    }));
  });
}

// An agent that does not answer knows of no problem, either.
void LoanWatch::OnLoans(const StatusOr<std::vector<Loan>>& loans) {
  const std::map<std::string, std::string> before = std::exchange(problems_, {});
  for (const Loan& loan : loans.ok() ? *loans : std::vector<Loan>()) {
    if (loan.problem.empty()) {
      continue;
    }
    problems_[loan.id] = loan.problem;
    if (before.contains(loan.id)) {
      unhealthy_(loan.id, loan.problem);
    }
  }
}

}  // namespace kgpu::functions
